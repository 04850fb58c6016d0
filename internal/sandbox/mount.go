package sandbox

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Mount shows a directory of the host under a virtual path.
type Mount struct {
	Virtual  string // absolute, not one of the paths that the sandbox itself uses
	Host     string // absolute, an existing directory
	ReadOnly bool
}

// mount is a directory that one sandbox shows. Its host path is never shown.
type mount struct {
	virtual  string
	host     string // as configured
	command  string // the spelling that commands use: needs no quoting in a shell
	top      string // directory that is opened first; sub is opened below it
	sub      string // slash-separated, "" for top itself
	readOnly bool
}

// mountParent holds the virtual paths; itself it is nothing that can be mounted.
const mountParent = "/mnt"

// checkMount reports why an operator's mount cannot be used.
func checkMount(m Mount) error {
	v := path.Clean(m.Virtual)
	switch {
	case !path.IsAbs(m.Virtual):
		return fmt.Errorf("mount %q: the virtual path must be absolute", m.Virtual)
	case v == "/" || v == mountParent || within(v, UserData) || within(UserData, v):
		return fmt.Errorf("mount %q: this path belongs to the sandbox itself", m.Virtual)
	case !filepath.IsAbs(m.Host):
		return fmt.Errorf("mount %q: the host path %q must be absolute", m.Virtual, m.Host)
	}
	return nil
}

// mapping translates between virtual paths and those of the host.
type mapping struct {
	mounts []*mount // the longest virtual path first: the most specific decides
	hosts  []pair   // host spelling to virtual, the longest first
	hidden []pair   // directories of the host that have no virtual path
}

func newMapping(mounts []*mount, hidden []pair) *mapping {
	m := &mapping{mounts: slices.Clone(mounts), hidden: hidden}
	slices.SortStableFunc(m.mounts, func(a, b *mount) int { return cmp.Compare(len(b.virtual), len(a.virtual)) })
	for _, mt := range m.mounts {
		for _, host := range mt.spellings() {
			m.hosts = append(m.hosts, pair{from: host, to: mt.virtual})
		}
	}
	byLength := func(a, b pair) int { return cmp.Compare(len(b.from), len(a.from)) }
	slices.SortStableFunc(m.hosts, byLength)
	slices.SortStableFunc(m.hidden, byLength)
	return m
}

// all lists the mounts as a command may see them, each before those inside it.
func (m *mapping) all() []Mount {
	list := make([]Mount, 0, len(m.mounts))
	for _, mt := range m.mounts {
		list = append(list, Mount{Virtual: mt.virtual, Host: mt.host, ReadOnly: mt.readOnly})
	}
	slices.SortStableFunc(list, func(a, b Mount) int { return cmp.Compare(len(a.Virtual), len(b.Virtual)) })
	return list
}

// spellings are the paths under which programs may name the mount: as
// configured, as commands get it, and with links resolved (what pwd -P prints).
func (m *mount) spellings() []string {
	all := []string{m.host, m.command}
	for _, p := range []string{m.host, m.top} {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			continue
		}
		if p == m.top {
			real = filepath.Join(real, filepath.FromSlash(m.sub))
		}
		all = append(all, real)
	}
	slices.Sort(all)
	return slices.Compact(slices.DeleteFunc(all, func(s string) bool { return s == "" }))
}

// clean makes the virtual spelling of a path that is virtual, relative to the
// workspace, or of the host.
func (m *mapping) clean(p string) (string, error) {
	switch {
	case p == "":
		return "", errEmptyPath
	case strings.ContainsRune(p, 0):
		return "", errNULPath
	case slices.Contains(strings.Split(p, "/"), ".."):
		return "", ErrTraversal
	}
	if !path.IsAbs(p) {
		return path.Join(Workspace, p), nil
	}
	p = path.Clean(p)
	if _, _, ok := m.find(p); ok {
		return p, nil
	}
	if virtual, ok := m.fromHost(p); ok {
		return virtual, nil
	}
	return "", ErrOutside
}

// find gives the mount that a virtual path belongs to and the name below it.
func (m *mapping) find(virtual string) (*mount, string, bool) {
	for _, mt := range m.mounts {
		if within(virtual, mt.virtual) {
			name := strings.TrimPrefix(strings.TrimPrefix(virtual, mt.virtual), "/")
			return mt, cmp.Or(name, "."), true
		}
	}
	return nil, "", false
}

// fromHost gives the virtual spelling of an absolute path of the host.
func (m *mapping) fromHost(host string) (string, bool) {
	for _, p := range m.hosts {
		if within(host, p.from) {
			return path.Join(p.to, filepath.ToSlash(strings.TrimPrefix(host, p.from))), true
		}
	}
	return "", false
}

// within reports whether p is dir or lies below it, by path segments (I01).
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
