package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// CopyThread implements [Files].
func (l *LocalFiles) CopyThread(ctx context.Context, from, to FileOwner) error {
	source, err := l.root(from, false)
	if errors.Is(err, ErrFileNotFound) {
		return nil // it has no files yet
	}
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := l.root(to, true)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	err = fs.WalkDir(source.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir():
			return target.MkdirAll(name, dirMode)
		case !entry.Type().IsRegular():
			return nil
		}
		return copyFile(source, target, name)
	})
	if err != nil {
		return fmt.Errorf("copy the files of thread %s: %w", from.Thread, err)
	}
	return nil
}

// copyFile copies a regular file. One that was exchanged for something else
// meanwhile is left out.
func copyFile(source, target *os.Root, name string) error {
	in, err := source.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us up
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	out, err := target.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
