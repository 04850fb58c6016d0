package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"deerflow/internal/thread"
)

// VirtualRoot is where a thread's files stand for its tools and its clients.
const VirtualRoot = "/mnt/user-data"

// virtualDirs are the directories under [VirtualRoot] that clients may read.
func virtualDirs() []string { return []string{"workspace", dirUploads, "outputs"} }

const dirUploads = "uploads"

// FileOwner says whose files are meant.
type FileOwner struct {
	User   string
	Thread string
}

// FileInfo describes a file of a thread.
type FileInfo struct {
	Name     string
	Path     string // virtual, below VirtualRoot
	Size     int64
	Modified time.Time
	// Text is the name of the file beside it that has the text of a document, ""
	// for none. Only List looks for it.
	Text string
}

// OpenFile is a regular file that is open for reading.
type OpenFile interface {
	io.ReadSeekCloser
	Info() FileInfo
}

// Errors of [Files].
var (
	// ErrFileNotFound: there is no such file.
	ErrFileNotFound = fmt.Errorf("no such file: %w", fs.ErrNotExist)
	// ErrFileRefused: the path leads out of the thread's directories.
	ErrFileRefused = errors.New("the path leads out of the thread's directories")
	// ErrNotAFile: there is a directory, a pipe or the like.
	ErrNotAFile = errors.New("it is no regular file")
	// ErrFileTooLarge: more came than was allowed.
	ErrFileTooLarge = errors.New("the file is too large")
	// ErrFileChanged: the file is not what the caller thinks it is.
	ErrFileChanged = errors.New("the file has changed")
	// ErrNotText: the file cannot be edited as text.
	ErrNotText = errors.New("it is no text")
)

// Files keeps the files of threads. A thread's directories need not exist
// before its first upload.
type Files interface {
	// Upload stores what r gives, at most limit bytes, as a new file of the
	// uploads directory. Nothing is ever overwritten: a name that is taken, in
	// whatever Unicode form, gets a number. Nothing is left of an upload that
	// fails.
	Upload(ctx context.Context, o FileOwner, name string, r io.Reader, limit int64) (FileInfo, error)
	// Delete removes an upload, and the text that was made of it.
	Delete(ctx context.Context, o FileOwner, name string) error
	// TextNames are names for the texts of uploaded documents, in their order: free
	// ones, each another.
	TextNames(ctx context.Context, o FileOwner, documents []string) ([]string, error)
	// Open opens the file at a virtual path such as /mnt/user-data/outputs/a.md.
	Open(ctx context.Context, o FileOwner, virtualPath string) (OpenFile, error)
	// Replace puts new content in the place of a text file that is there, if the
	// SHA-256 of the old content is the expected one, in hex.
	Replace(ctx context.Context, o FileOwner, virtualPath string, content []byte, expected string) (FileInfo, error)
	// List describes the uploads, by name; texts of documents go with these.
	List(ctx context.Context, o FileOwner) ([]FileInfo, error)
	// CopyThread copies all files of a thread to one that has none yet. Links are
	// left out.
	CopyThread(ctx context.Context, from, to FileOwner) error
	// RemoveThread removes all files of a thread.
	RemoveThread(ctx context.Context, o FileOwner) error
}

// check refuses ids that would be more than one part of a path.
func (o FileOwner) check() error {
	if !thread.ValidID(o.User) || !thread.ValidID(o.Thread) {
		return fmt.Errorf("user %q, thread %q: %w", o.User, o.Thread, ErrFileRefused)
	}
	return nil
}
