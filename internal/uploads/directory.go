package uploads

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
	"syscall"

	"deerflow/internal/thread"
)

// Modes of what is uploaded: a thread's files are read by its sandbox, which may
// be another user.
const (
	dirMode  = 0o755
	fileMode = 0o644
)

// Errors of a [Directory], beside those of package fs.
var (
	// ErrTooLarge: more came than was allowed.
	ErrTooLarge = errors.New("the file is too large")
	// ErrElsewhere: what should be the directory is something else.
	ErrElsewhere = errors.New("the upload directory leads elsewhere")
)

// Directory is the upload directory of a thread. All paths are opened within it:
// a link that leads out is refused, also one that is exchanged in the middle of
// an access. Close it.
type Directory struct{ root *os.Root }

// Open opens the upload directory of a thread below the directory of all users,
// made before if create is set. One that is not there is [fs.ErrNotExist].
func Open(usersDir, user, threadID string, create bool) (*Directory, error) {
	if !thread.ValidID(user) || !thread.ValidID(threadID) {
		return nil, fmt.Errorf("user %q, thread %q: %w", user, threadID, ErrElsewhere)
	}
	if create {
		if err := os.MkdirAll(usersDir, dirMode); err != nil {
			return nil, fmt.Errorf("make the directory of all users: %w", err)
		}
	}
	users, err := os.OpenRoot(usersDir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of all users: %w", err)
	}
	defer func() { _ = users.Close() }()
	name := path.Join(user, "threads", threadID, "user-data", "uploads")
	// A link that a command has put in its place is no upload directory.
	info, err := users.Lstat(name)
	switch {
	case err == nil && !info.IsDir():
		return nil, ErrElsewhere
	case errors.Is(err, fs.ErrNotExist) && create:
		if err := users.MkdirAll(name, dirMode); err != nil {
			return nil, fmt.Errorf("make the upload directory of thread %s: %w", threadID, err)
		}
	case err != nil:
		return nil, err
	}
	root, err := users.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Directory{root: root}, nil
}

// Close frees the directory.
func (d *Directory) Close() error { return d.root.Close() }

// Files describes the regular files by name, without uploads that are still on
// their way. Links and directories are none.
func (d *Directory) Files() ([]fs.FileInfo, error) {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list the uploads: %w", err)
	}
	files := make([]fs.FileInfo, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || isStaging(e.Name()) {
			continue // one was removed meanwhile
		}
		files = append(files, info)
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.Name(), b.Name()) })
	return files, nil
}

// Stat describes a regular file.
func (d *Directory) Stat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return info, err
}

// Open opens a regular file, without waiting on what is none, such as a pipe.
func (d *Directory) Open(name string) (*os.File, error) {
	if _, err := d.Stat(name); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Add stores what r gives, at most limit bytes, as a new file. Nothing is ever
// overwritten: a name that is taken, in whatever Unicode form, gets a number.
// Nothing is left of what fails.
func (d *Directory) Add(ctx context.Context, name string, r io.Reader, limit int64) (fs.FileInfo, error) {
	staging := StagingName()
	if err := d.stage(ctx, staging, r, limit); err != nil {
		return nil, errors.Join(err, ignoreMissing(d.root.Remove(staging)))
	}
	stored, err := d.claim(name)
	if err != nil {
		return nil, errors.Join(err, d.root.Remove(staging))
	}
	// The rename replaces our own empty file, or whatever stands there by now, and
	// never follows a link.
	if err := d.root.Rename(staging, stored); err != nil {
		return nil, errors.Join(fmt.Errorf("name the upload %q: %w", stored, err), d.root.Remove(staging), d.root.Remove(stored))
	}
	return d.root.Lstat(stored)
}

// stage writes a file under a name that nobody lists.
func (d *Directory) stage(ctx context.Context, staging string, r io.Reader, limit int64) (err error) {
	f, err := d.root.OpenFile(staging, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return fmt.Errorf("store an upload: %w", err)
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
		return ErrTooLarge
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

// claim finds a free name and makes an empty file of it, so that nobody else gets
// the same.
func (d *Directory) claim(name string) (string, error) {
	taken, err := d.taken()
	if err != nil {
		return "", err
	}
	for n := 0; ; n++ {
		try := numbered(name, n)
		if taken[SameName(try)] {
			continue
		}
		f, err := d.root.OpenFile(try, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if errors.Is(err, fs.ErrExist) {
			taken[SameName(try)] = true
			continue
		}
		if err != nil {
			return "", fmt.Errorf("store the upload %q: %w", try, err)
		}
		return try, f.Close()
	}
}

// taken are the names of all entries, in the form in which they are compared.
func (d *Directory) taken() (map[string]bool, error) {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list the uploads: %w", err)
	}
	taken := make(map[string]bool, len(entries))
	for _, e := range entries {
		taken[SameName(e.Name())] = true
	}
	return taken, nil
}

// Remove removes a file, or a link in its place. One that is not there is
// [fs.ErrNotExist].
func (d *Directory) Remove(name string) error {
	info, err := d.root.Lstat(name)
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return err
	}
	return d.root.Remove(name)
}

// Find is the name of the file that a person means: the name itself, or one that
// looks the same.
func (d *Directory) Find(name string) (string, error) {
	if _, err := d.root.Lstat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return "", fmt.Errorf("list the uploads: %w", err)
	}
	for _, e := range entries {
		if SameName(e.Name()) == SameName(name) {
			return e.Name(), nil
		}
	}
	return "", &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
