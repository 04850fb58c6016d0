package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"
)

// maxLinks is how many links one path may lead over, as in Linux.
const maxLinks = 40

// place is where a path leads: a name below a mount with no link in it, as far
// as it exists.
type place struct {
	mount *mount
	name  string      // slash-separated; "." is the mount itself
	info  fs.FileInfo // nil when nothing is there
}

func (p place) virtual() string { return path.Join(p.mount.virtual, p.name) }

// key names the place in the table of locks.
func (p place) key() string { return path.Join(p.mount.top, p.mount.sub, p.name) }

// info describes the place as the answer to a question about path.
func (p place) describe(asked string) Info {
	return Info{
		Path: asked, Real: p.virtual(), Size: p.info.Size(), Dir: p.info.IsDir(),
		Mode: p.info.Mode(), ModTime: p.info.ModTime(),
	}
}

// resolve follows the links of a clean virtual path. [os.Root] refuses every
// absolute link, even one that stays inside; here such a link is followed when
// its target, in the host's or the virtual spelling, lies in a mount. What is
// opened afterwards is opened through the Root of that mount, so a link that is
// swapped in between can still not lead out (I02).
func (v *view) resolve(virtual string) (place, error) {
	w := walker{view: v}
	if err := w.start(virtual); err != nil {
		return place{}, err
	}
	for len(w.rest) > 0 {
		if err := w.step(); err != nil {
			return place{}, err
		}
	}
	return w.at, nil
}

type walker struct {
	view  *view
	at    place
	rest  []string // segments still to go
	links int
}

// start begins at the mount of a virtual path, with what was still to go behind.
func (w *walker) start(virtual string) error {
	m, name, ok := w.view.box.paths.find(virtual)
	if !ok {
		return ErrOutside
	}
	root, err := w.view.root(m)
	if err != nil {
		return err
	}
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	w.at = place{mount: m, name: ".", info: info}
	if name != "." {
		w.rest = append(strings.Split(name, "/"), w.rest...)
	}
	return nil
}

// step takes the next segment.
func (w *walker) step() error {
	segment := w.rest[0]
	w.rest = w.rest[1:]
	switch segment {
	case "", ".":
		return nil
	case "..": // only from the target of a link
		return w.up()
	}
	root, err := w.view.root(w.at.mount)
	if err != nil {
		return err
	}
	name := path.Join(w.at.name, segment)
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if other, ok := sameName(root, w.at.name, segment); ok {
			name = path.Join(w.at.name, other)
			info, err = root.Lstat(name)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.missing(name)
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return w.follow(root, name)
	}
	w.at.name, w.at.info = name, info
	return nil
}

func (w *walker) up() error {
	if w.at.name == "." {
		return ErrOutside
	}
	root, err := w.view.root(w.at.mount)
	if err != nil {
		return err
	}
	w.at.name = path.Dir(w.at.name)
	w.at.info, err = root.Lstat(w.at.name)
	return err
}

// missing ends the walk: the rest names something that can only be made.
func (w *walker) missing(name string) error {
	if slices.Contains(w.rest, "..") {
		return fs.ErrNotExist
	}
	w.at.name = path.Join(append([]string{name}, w.rest...)...)
	w.at.info, w.rest = nil, nil
	return nil
}

func (w *walker) follow(root *os.Root, name string) error {
	if w.links++; w.links > maxLinks {
		return syscall.ELOOP
	}
	target, err := root.Readlink(name)
	if err != nil {
		return err
	}
	if !path.IsAbs(target) {
		w.rest = append(strings.Split(target, "/"), w.rest...)
		return nil
	}
	target = path.Clean(target)
	if virtual, ok := w.view.box.paths.fromHost(target); ok {
		target = virtual
	}
	return w.start(target)
}

// sameName finds the entry whose name is the same text in another Unicode
// normal form: macOS writes decomposed names (I04).
func sameName(root *os.Root, dir, name string) (string, bool) {
	want := norm.NFC.String(name)
	if isASCII(name) {
		return "", false
	}
	d, err := root.Open(dir)
	if err != nil {
		return "", false
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(maxEntries)
	if err != nil {
		return "", false
	}
	slices.Sort(names)
	for _, n := range names {
		if norm.NFC.String(n) == want {
			return n, true
		}
	}
	return "", false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// existing resolves a path that has to be there.
func (v *view) existing(op, asked string) (place, string, error) {
	virtual, err := v.box.paths.clean(asked)
	if err != nil {
		return place{}, asked, pathError(op, asked, err)
	}
	p, err := v.resolve(virtual)
	if err == nil && p.info == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return place{}, virtual, pathError(op, virtual, err)
	}
	return p, virtual, nil
}

// directory resolves a path that has to be a directory.
func (v *view) directory(op, asked string) (place, string, error) {
	p, virtual, err := v.existing(op, asked)
	if err == nil && !p.info.IsDir() {
		err = pathError(op, virtual, ErrNotDirectory)
	}
	return p, virtual, err
}

// writable resolves a path that is to be written; the file need not exist.
func (v *view) writable(op, asked string) (place, string, error) {
	virtual, err := v.box.paths.clean(asked)
	if err != nil {
		return place{}, asked, pathError(op, asked, err)
	}
	p, err := v.resolve(virtual)
	switch {
	case err != nil:
	case p.mount.readOnly:
		err = ErrReadOnly
	case p.mount == v.box.userData && !inThreadDirectory(p.virtual()):
		err = fmt.Errorf("only %s, %s and %s can be written: %w", Workspace, Uploads, Outputs, fs.ErrPermission)
	case p.name == "." || p.info != nil && p.info.IsDir():
		err = ErrIsDirectory
	case p.info != nil && !p.info.Mode().IsRegular():
		err = ErrNotRegular
	}
	if err != nil {
		return place{}, virtual, pathError(op, virtual, err)
	}
	return p, virtual, nil
}

// inThreadDirectory reports whether a path lies in one of the three
// directories that hold files.
func inThreadDirectory(virtual string) bool {
	return within(virtual, Workspace) || within(virtual, Uploads) || within(virtual, Outputs)
}
