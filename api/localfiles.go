package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"
)

// LocalFiles keeps files under <users>/<user>/threads/<thread>/user-data. Every
// path is opened through os.Root: links that lead out of the directory are
// refused, also when they are exchanged in the middle of an access.
type LocalFiles struct{ users string }

var _ Files = (*LocalFiles)(nil)

// NewFiles keeps files below the directory of all users, <data>/users. It is
// made with the first upload.
func NewFiles(usersDir string) *LocalFiles { return &LocalFiles{users: usersDir} }

const (
	// What a thread works on is read by its sandbox, which may be another user.
	dirMode  = 0o755
	fileMode = 0o644
)

func (o FileOwner) dir() string {
	return path.Join(o.User, "threads", o.Thread)
}

// root opens the user-data directory of a thread, made before if create is set.
func (l *LocalFiles) root(o FileOwner, create bool) (*os.Root, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if create {
		if err := os.MkdirAll(l.users, dirMode); err != nil {
			return nil, fmt.Errorf("make the directory of all users: %w", err)
		}
	}
	users, err := os.OpenRoot(l.users)
	if err != nil {
		return nil, fmt.Errorf("open the directory of all users: %w", fileError(err))
	}
	defer func() { _ = users.Close() }()
	dir := path.Join(o.dir(), "user-data")
	if create {
		if err := users.MkdirAll(path.Join(dir, dirUploads), dirMode); err != nil {
			return nil, fmt.Errorf("make the upload directory of thread %s: %w", o.Thread, err)
		}
	}
	root, err := users.OpenRoot(dir)
	if err != nil {
		return nil, fileError(err)
	}
	return root, nil
}

// fileError maps errors of the file system to those of Files.
func fileError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return fmt.Errorf("%w (%w)", ErrFileNotFound, err)
	case isEscape(err), errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("%w (%w)", ErrFileRefused, err)
	}
	return err
}

// isEscape tells the error by which os.Root refuses a path; it has no name.
func isEscape(err error) bool {
	var wrong *fs.PathError
	return errors.As(err, &wrong) && strings.Contains(wrong.Err.Error(), "escapes")
}

// Upload implements [Files].
func (l *LocalFiles) Upload(ctx context.Context, o FileOwner, name string, r io.Reader, limit int64) (FileInfo, error) {
	root, err := l.root(o, true)
	if err != nil {
		return FileInfo{}, err
	}
	defer func() { _ = root.Close() }()
	staging := path.Join(dirUploads, stagingPrefix+uuid.NewString()+stagingSuffix)
	if err := stage(ctx, root, staging, r, limit); err != nil {
		return FileInfo{}, errors.Join(err, ignoreMissing(root.Remove(staging)))
	}
	stored, err := reserve(root, name)
	if err != nil {
		return FileInfo{}, errors.Join(err, root.Remove(staging))
	}
	// The rename replaces our own empty reservation, or whatever stands there by
	// now, and never follows a link.
	if err := root.Rename(staging, path.Join(dirUploads, stored)); err != nil {
		return FileInfo{}, errors.Join(fmt.Errorf("name the upload %q: %w", stored, fileError(err)),
			root.Remove(staging), root.Remove(path.Join(dirUploads, stored)))
	}
	return describe(root, dirUploads, stored)
}

// stage writes an upload under a name that nobody lists.
func stage(ctx context.Context, root *os.Root, staging string, r io.Reader, limit int64) (err error) {
	f, err := root.OpenFile(staging, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return fmt.Errorf("store an upload: %w", fileError(err))
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = fmt.Errorf("store an upload: %w", closed)
		}
	}()
	n, err := io.Copy(f, io.LimitReader(readerWithContext{ctx, r}, limit+1))
	if err != nil {
		return fmt.Errorf("store an upload: %w", err)
	}
	if n > limit {
		return ErrFileTooLarge
	}
	return nil
}

// readerWithContext stops reading when the context ends.
type readerWithContext struct {
	ctx context.Context //nolint:containedctx // it lives for one copy
	r   io.Reader
}

func (r readerWithContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// reserve finds a free name and makes an empty file of it, so that nobody else
// gets the same.
func reserve(root *os.Root, name string) (string, error) {
	taken, err := takenNames(root)
	if err != nil {
		return "", err
	}
	for n := 0; ; n++ {
		try := numbered(name, n)
		if taken[sameName(try)] {
			continue
		}
		f, err := root.OpenFile(path.Join(dirUploads, try), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if errors.Is(err, fs.ErrExist) {
			taken[sameName(try)] = true
			continue
		}
		if err != nil {
			return "", fmt.Errorf("store the upload %q: %w", try, fileError(err))
		}
		return try, f.Close()
	}
}

func takenNames(root *os.Root) (map[string]bool, error) {
	entries, err := fs.ReadDir(root.FS(), dirUploads)
	if err != nil {
		return nil, fmt.Errorf("list the uploads: %w", fileError(err))
	}
	taken := make(map[string]bool, len(entries))
	for _, e := range entries {
		taken[sameName(e.Name())] = true
	}
	return taken, nil
}

func describe(root *os.Root, dir, name string) (FileInfo, error) {
	info, err := root.Lstat(path.Join(dir, name))
	if err != nil {
		return FileInfo{}, fileError(err)
	}
	return fileInfo(dir, info), nil
}

func fileInfo(dir string, info fs.FileInfo) FileInfo {
	return FileInfo{
		Name: info.Name(), Path: path.Join(VirtualRoot, dir, info.Name()), Size: info.Size(), Modified: info.ModTime(),
	}
}

// Discard implements [Files].
func (l *LocalFiles) Discard(_ context.Context, o FileOwner, name string) error {
	root, err := l.root(o, false)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return ignoreMissing(root.Remove(path.Join(dirUploads, name)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List implements [Files].
func (l *LocalFiles) List(_ context.Context, o FileOwner) ([]FileInfo, error) {
	root, err := l.root(o, false)
	if errors.Is(err, ErrFileNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), dirUploads)
	if err != nil {
		if errors.Is(fileError(err), ErrFileNotFound) {
			return nil, nil
		}
		return nil, fmt.Errorf("list the uploads of thread %s: %w", o.Thread, fileError(err))
	}
	files := make([]FileInfo, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || isStaging(e.Name()) {
			continue // removed meanwhile, a link, or not complete
		}
		files = append(files, fileInfo(dirUploads, info))
	}
	slices.SortFunc(files, func(a, b FileInfo) int { return cmp.Compare(a.Name, b.Name) })
	return files, nil
}

// RemoveThread implements [Files].
func (l *LocalFiles) RemoveThread(_ context.Context, o FileOwner) error {
	if err := o.check(); err != nil {
		return err
	}
	users, err := os.OpenRoot(l.users)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the directory of all users: %w", err)
	}
	defer func() { _ = users.Close() }()
	if err := users.RemoveAll(o.dir()); err != nil {
		return fmt.Errorf("remove the files of thread %s: %w", o.Thread, err)
	}
	return nil
}
