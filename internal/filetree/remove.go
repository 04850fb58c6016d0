package filetree

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// batch is how many entries of a directory are read at once.
const batch = 1024

// Remove removes what stands under a name and all that is below it; nothing there is
// no error. [os.Root.RemoveAll] holds a descriptor for each level and gives up where
// the owner has no right to write. Here directories get that right, and those that
// are not empty are moved up to the top, so that no more than three are open at once.
// When something cannot be removed the rest is, and a later call goes on.
func Remove(ctx context.Context, root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return unlessGone(err)
	}
	if !info.IsDir() {
		return unlessGone(root.Remove(name))
	}
	if err := allow(root, name); err != nil {
		return unlessGone(err)
	}
	top, err := root.OpenRoot(name)
	if err != nil {
		return unlessGone(err)
	}
	r := &removal{ctx: ctx, top: top, mark: ".removed-" + rand.Text()}
	err = r.empty(top, r.directory)
	if err = errors.Join(err, top.Close()); err != nil {
		return err
	}
	return unlessGone(root.Remove(name))
}

// removal empties one directory.
type removal struct {
	ctx   context.Context
	top   *os.Root
	mark  string // begins the names of what was moved to the top
	moved int
}

// empty removes the entries of a directory; what to do with a directory among them
// that is not empty, the caller says.
func (r *removal) empty(dir *os.Root, full func(name string) error) error {
	for {
		entries, err := first(dir)
		if err != nil || len(entries) == 0 {
			return err
		}
		var failed error
		progress := false
		for _, e := range entries {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			err := unlessGone(dir.Remove(e.Name()))
			if err != nil && e.IsDir() {
				err = unlessGone(full(e.Name()))
			}
			failed = cmp.Or(failed, err)
			progress = progress || err == nil
		}
		if !progress {
			return failed
		}
	}
}

// first reads some entries of a directory.
func first(dir *os.Root) ([]fs.DirEntry, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	entries, err := d.ReadDir(batch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

// directory removes a directory of the top. The directories in it move up.
func (r *removal) directory(name string) error {
	if err := allow(r.top, name); err != nil {
		return err
	}
	dir, err := r.top.OpenRoot(name)
	if err != nil {
		return err
	}
	err = r.empty(dir, func(inner string) error {
		if err := allow(dir, inner); err != nil { // moving changes what ".." in it is
			return err
		}
		r.moved++
		return r.top.Rename(path.Join(name, inner), fmt.Sprint(r.mark, "-", r.moved))
	})
	if err = errors.Join(err, dir.Close()); err != nil {
		return err
	}
	return r.top.Remove(name)
}

// allow gives the owner of a directory all rights.
func allow(root *os.Root, name string) error {
	const all = 0o700
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || info.Mode().Perm()&all == all {
		return err
	}
	return root.Chmod(name, info.Mode().Perm()|all)
}

// unlessGone takes it for no error that something is not there.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
