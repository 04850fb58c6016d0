package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"deerflow/internal/filetree"
	"deerflow/internal/uploads"
)

// LocalFiles keeps files under <users>/<user>/threads/<thread>/user-data. Every
// path is opened through os.Root: links that lead out of the directory are
// refused, also when they are exchanged in the middle of an access.
type LocalFiles struct{ users string }

var _ Files = (*LocalFiles)(nil)

// NewFiles keeps files below the directory of all users, <data>/users. It is
// made with the first upload.
func NewFiles(usersDir string) *LocalFiles { return &LocalFiles{users: usersDir} }

// dirMode: what a thread works on is read by its sandbox, which may be another
// user.
const dirMode = 0o755

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
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV): // a socket, or a device that is not there
		return fmt.Errorf("%w (%w)", ErrNotAFile, err)
	case isEscape(err), errors.Is(err, syscall.ELOOP), errors.Is(err, uploads.ErrElsewhere):
		return fmt.Errorf("%w (%w)", ErrFileRefused, err)
	}
	if errors.Is(err, uploads.ErrTooLarge) {
		return ErrFileTooLarge
	}
	return err
}

// isEscape tells the error by which os.Root refuses a path; it has no name.
func isEscape(err error) bool {
	var wrong *fs.PathError
	return errors.As(err, &wrong) && strings.Contains(wrong.Err.Error(), "escapes")
}

// uploads opens the upload directory of a thread.
func (l *LocalFiles) uploads(o FileOwner, create bool) (*uploads.Directory, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d, err := uploads.Open(l.users, o.User, o.Thread, create)
	if err != nil {
		return nil, fileError(err)
	}
	return d, nil
}

// Upload implements [Files].
func (l *LocalFiles) Upload(ctx context.Context, o FileOwner, name string, r io.Reader, limit int64) (FileInfo, error) {
	d, err := l.uploads(o, true)
	if err != nil {
		return FileInfo{}, err
	}
	defer func() { _ = d.Close() }()
	info, err := d.Add(ctx, name, r, limit)
	if err != nil {
		return FileInfo{}, fileError(err)
	}
	return fileInfo(dirUploads, info), nil
}

// Delete implements [Files].
func (l *LocalFiles) Delete(_ context.Context, o FileOwner, name string) error {
	d, err := l.uploads(o, false)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	found, err := d.Find(name)
	if err != nil {
		return fileError(err)
	}
	text, err := d.TextOf(found)
	if err != nil {
		return fileError(err)
	}
	if err := d.Remove(found); err != nil {
		return fileError(err)
	}
	if text == "" {
		return nil
	}
	if err := d.Remove(text); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the text of %q: %w", found, fileError(err))
	}
	return nil
}

// List implements [Files].
func (l *LocalFiles) List(_ context.Context, o FileOwner) ([]FileInfo, error) {
	d, err := l.uploads(o, false)
	if errors.Is(err, ErrFileNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	infos, err := d.Files()
	if err != nil {
		return nil, fmt.Errorf("thread %s: %w", o.Thread, fileError(err))
	}
	texts := d.Texts(infos)
	isText := make(map[string]bool, len(texts))
	for _, text := range texts {
		isText[text] = true
	}
	files := make([]FileInfo, 0, len(infos))
	for _, info := range infos {
		if !isText[info.Name()] {
			f := fileInfo(dirUploads, info)
			f.Text = texts[f.Name]
			files = append(files, f)
		}
	}
	return files, nil
}

// TextNames implements [Files].
func (l *LocalFiles) TextNames(_ context.Context, o FileOwner, documents []string) ([]string, error) {
	d, err := l.uploads(o, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	return d.TextNames(documents)
}

func fileInfo(dir string, info fs.FileInfo) FileInfo {
	return FileInfo{
		Name: info.Name(), Path: path.Join(VirtualRoot, dir, info.Name()), Size: info.Size(), Modified: info.ModTime(),
	}
}

// RemoveThread implements [Files].
func (l *LocalFiles) RemoveThread(ctx context.Context, o FileOwner) error {
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
	if err := filetree.Remove(ctx, users, o.dir()); err != nil {
		return fmt.Errorf("remove the files of thread %s: %w", o.Thread, err)
	}
	return nil
}
