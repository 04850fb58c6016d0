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
	maxDepth   = 128     // levels below the start: each holds a descriptor
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
	in   *os.Root // the directory that it was found in
	base string   // its name there
	name string   // below the mount
	path string   // below the start of the walk
	dir  bool
	link bool
}

// walk goes through the tree under a directory in the order of names, parents
// first, without following links. Ignored names and links that lead out are left
// out. A directory is opened in the one above it: from the top, the cost of a deep
// tree would grow with the square of its depth. depth 0 means no limit but
// [maxDepth].
type walk struct {
	ctx        context.Context
	view       *view
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
	w := &walk{ctx: ctx, view: v, mount: p.mount, depth: depth, visit: visit}
	err = w.dir(root, p.name, found{name: p.name}, 1)
	if errors.Is(err, errStop) {
		err = nil
	}
	return w.incomplete, err
}

// dir goes through a directory, which stands in an open one.
func (w *walk) dir(parent *os.Root, base string, at found, level int) error {
	dir, entries, err := w.open(parent, base)
	if err != nil && level > 1 && w.ctx.Err() == nil {
		return nil // gone or not readable: the rest of the tree still counts
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for _, e := range entries {
		if w.seen++; w.seen > maxWalk {
			w.incomplete = true
			return errStop
		}
		if leftOut(path.Join(w.mount.virtual, at.name), e) {
			continue
		}
		f := found{
			in: dir, base: e.Name(), name: path.Join(at.name, e.Name()), path: path.Join(at.path, e.Name()),
			dir: e.IsDir(), link: e.Type()&fs.ModeSymlink != 0,
		}
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
	if level >= maxDepth {
		w.incomplete = true
		return nil
	}
	return w.dir(f.in, f.base, f, level+1)
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

// open opens a directory that stands in an open one, and reads it.
func (w *walk) open(parent *os.Root, base string) (*os.Root, []fs.DirEntry, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, nil, err
	}
	dir, err := parent.OpenRoot(base)
	if err != nil {
		return nil, nil, err
	}
	entries, more, err := readDirectory(dir)
	if err != nil {
		_ = dir.Close()
		return nil, nil, err
	}
	w.incomplete = w.incomplete || more
	return dir, entries, nil
}

// readDirectory reads a directory, sorted by name, and reports whether there is more
// in it than is read.
func readDirectory(dir *os.Root) (entries []fs.DirEntry, more bool, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = d.Close() }()
	entries, err = d.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, len(entries) == maxEntries, nil
}
