package sandbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Bounds of a walk, so that a huge tree costs time and memory within reason.
const (
	maxEntries = 20_000  // of one directory
	maxWalk    = 200_000 // of one walk
)

// Listing is a list of files and directories.
type Listing struct {
	Paths []string // virtual; a directory ends with a slash
	Total int      // how many there are, more than Paths when it was cut
	// Incomplete: the tree is so large that not all of it was looked at.
	Incomplete bool
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// found is one entry of a walk.
type found struct {
	name string // below the mount
	path string // below the start of the walk
	dir  bool
	link bool
}

// walk goes through the tree under a directory in the order of names, parents
// first, without following links. Ignored names and links that lead out are left
// out. depth 0 means no limit.
type walk struct {
	ctx        context.Context
	view       *view
	root       *os.Root
	mount      *mount
	depth      int
	visit      func(found) error
	seen       int
	incomplete bool
}

func (v *view) walk(ctx context.Context, p place, depth int, visit func(found) error) (incomplete bool, err error) {
	root, err := v.root(p.mount)
	if err != nil {
		return false, err
	}
	w := &walk{ctx: ctx, view: v, root: root, mount: p.mount, depth: depth, visit: visit}
	err = w.dir(p.name, "", 1)
	if errors.Is(err, errStop) {
		err = nil
	}
	return w.incomplete, err
}

func (w *walk) dir(name, below string, level int) error {
	entries, err := w.entries(name)
	if err != nil && level > 1 && w.ctx.Err() == nil {
		return nil // gone or not readable: the rest of the tree still counts
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if w.seen++; w.seen > maxWalk {
			w.incomplete = true
			return errStop
		}
		if leftOut(path.Join(w.mount.virtual, name), e) {
			continue
		}
		f := found{name: path.Join(name, e.Name()), path: path.Join(below, e.Name()), dir: e.IsDir(), link: e.Type()&fs.ModeSymlink != 0}
		if err := w.entry(f, level); err != nil {
			return err
		}
	}
	return nil
}

// entry visits an entry and what is below it.
func (w *walk) entry(f found, level int) error {
	if f.link && !w.follow(&f) {
		return nil
	}
	if err := w.visit(f); err != nil {
		return err
	}
	if !f.dir || f.link || w.depth > 0 && level >= w.depth {
		return nil
	}
	return w.dir(f.name, f.path, level+1)
}

// follow tells what a link leads to; one that leads out or nowhere is left out.
func (w *walk) follow(f *found) bool {
	target, err := w.view.resolve(path.Join(w.mount.virtual, f.name))
	if err != nil || target.info == nil {
		return false
	}
	f.dir = target.info.IsDir()
	return true
}

// entries reads a directory, sorted by name.
func (w *walk) entries(name string) ([]fs.DirEntry, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	d, err := w.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	entries, err := d.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) == maxEntries {
		w.incomplete = true
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}
