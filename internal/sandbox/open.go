package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Stat describes a file or directory, links followed.
func (l *local) Stat(ctx context.Context, asked string) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	v := l.view()
	defer v.close()
	p, virtual, err := v.existing("stat", asked)
	if err != nil {
		return Info{}, err
	}
	return p.describe(virtual), nil
}

// Open opens a regular file for reading.
func (l *local) Open(ctx context.Context, asked string) (io.ReadSeekCloser, Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, Info{}, err
	}
	v := l.view()
	defer v.close()
	p, virtual, err := v.existing("open", asked)
	if err != nil {
		return nil, Info{}, err
	}
	f, err := v.openRegular(p)
	if err != nil {
		return nil, Info{}, pathError("open", virtual, err)
	}
	p.info, err = f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, Info{}, pathError("open", virtual, err)
	}
	return &file{f: f, path: virtual}, p.describe(virtual), nil
}

// file is an open file that does not tell where it is on the host.
type file struct {
	f    *os.File
	path string // virtual
}

func (f *file) Read(b []byte) (int, error) {
	n, err := f.f.Read(b)
	if err == io.EOF {
		return n, io.EOF
	}
	return n, pathError("read", f.path, err)
}

func (f *file) Seek(offset int64, whence int) (int64, error) {
	n, err := f.f.Seek(offset, whence)
	return n, pathError("seek", f.path, err)
}

func (f *file) Close() error { return pathError("close", f.path, f.f.Close()) }

// openRegular opens the file at a place for reading. A pipe that was put there
// cannot block it, and a file that has a name outside the mount is refused.
func (v *view) openRegular(p place) (*os.File, error) {
	root, err := v.root(p.mount)
	if err != nil {
		return nil, err
	}
	f, _, err := v.openRegularIn(root, p.mount, p.name)
	return f, err
}

// openRegularIn opens a file of a mount by its name in a directory that is open.
func (v *view) openRegularIn(dir *os.Root, m *mount, name string) (*os.File, fs.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = ErrIsDirectory
	case !info.Mode().IsRegular():
		err = ErrNotRegular
	default:
		err = v.checkHardLinks(m, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Hash is the SHA-256 of a file.
func (l *local) Hash(ctx context.Context, asked string) (string, error) {
	f, info, err := l.Open(ctx, asked)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, &contextReader{ctx: ctx, r: f}); err != nil {
		return "", pathError("hash", info.Path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// contextReader stops reading when the context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}
