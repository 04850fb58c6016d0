package filetree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxDepth is how many levels of directories [Copy] goes down.
const MaxDepth = 256

// ErrTooDeep is the error of [Copy] for a tree that has more than [MaxDepth] levels of directories.
var ErrTooDeep = fmt.Errorf("there are directories more than %d levels deep", MaxDepth)

// dirMode is the mode of directories that are made.
const dirMode = 0o755

// Copy copies the regular files and the directories of a tree. Holes of files stay
// holes. What else there is, such as links, pipes and sockets, is left out, and so is
// what goes away meanwhile.
func Copy(ctx context.Context, from, to *os.Root) error {
	return copyDirectory(ctx, from, to, 1)
}

func copyDirectory(ctx context.Context, from, to *os.Root, level int) error {
	d, err := from.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	for {
		entries, err := d.ReadDir(batch)
		for _, e := range entries {
			if err := copyEntry(ctx, from, to, e, level); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func copyEntry(ctx context.Context, from, to *os.Root, e fs.DirEntry, level int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.Type().IsRegular() {
		return copyFile(ctx, from, to, e.Name())
	}
	if !e.IsDir() {
		return nil
	}
	if level == MaxDepth {
		return ErrTooDeep
	}
	inner, err := from.OpenRoot(e.Name())
	if err != nil {
		return unlessGone(err)
	}
	defer func() { _ = inner.Close() }()
	if err := to.MkdirAll(e.Name(), dirMode); err != nil {
		return err
	}
	made, err := to.OpenRoot(e.Name())
	if err != nil {
		return err
	}
	defer func() { _ = made.Close() }()
	return copyDirectory(ctx, inner, made, level+1)
}

// copyFile copies a regular file. One that was exchanged for something else
// meanwhile is left out.
func copyFile(ctx context.Context, from, to *os.Root, name string) error {
	in, err := from.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	if err != nil {
		return unlessGone(err)
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	out, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	return errors.Join(copyContent(ctx, in, out, info.Size()), out.Close())
}

// copyContent copies the parts of a file that hold something.
func copyContent(ctx context.Context, in, out *os.File, size int64) error {
	for at := int64(0); at < size; {
		begin, end, err := nextData(in, at, size)
		if err != nil {
			return err
		}
		part := &untilDone{ctx: ctx, r: io.NewSectionReader(in, begin, end-begin)}
		if _, err := io.Copy(io.NewOffsetWriter(out, begin), part); err != nil {
			return err
		}
		at = end
	}
	return out.Truncate(size)
}

// untilDone stops reading when the context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u *untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}
