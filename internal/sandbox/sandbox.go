package sandbox

import (
	"context"
	"io"
	"io/fs"
	"time"

	"deerflow/internal/thread"
)

// The virtual directories of a thread. UserData itself can be listed, files
// live in the three below it; a relative path is one of the workspace.
const (
	UserData  = thread.UserData
	Workspace = thread.Workspace
	Uploads   = thread.Uploads
	Outputs   = thread.Outputs
)

// Provider hands out the sandboxes of threads.
type Provider interface {
	// Acquire gives the sandbox of a thread and makes it when there is none. Two
	// calls for one thread give the same sandbox id.
	Acquire(ctx context.Context, user, threadID string) (Sandbox, error)
	// Remove deletes a thread's files for good.
	Remove(ctx context.Context, user, threadID string) error
	// RunsCommands reports whether the sandboxes take commands at all.
	RunsCommands() bool
	// Close ends what still runs in the sandboxes.
	Close() error
}

// Sandbox is where the tools of one thread work. It may be used by several
// goroutines at once.
type Sandbox interface {
	Files
	// ID names the sandbox in the thread's state. See [SameFiles].
	ID() string
	// Fresh reports whether Acquire has just made the sandbox: what it held
	// before, if anything, is gone.
	Fresh() bool
	// Exec runs a shell command in the workspace. A command that fails or runs
	// out of time is a result; the error is a refusal ([ErrHostBash],
	// [CommandError]), the context's error together with the output so far, an
	// [UnreachableError] when nothing was run, or [ErrUnavailable].
	Exec(ctx context.Context, c Command) (ExecResult, error)
	// Mask replaces paths of the host in a text by their virtual spelling.
	Mask(text string) string
}

// Noticer is a sandbox that Acquire may have had to put right. The notice tells the
// model what, and is empty when there is nothing to tell.
type Noticer interface {
	Notice() string
}

// Files is the file half of a sandbox. Paths are virtual, relative to the
// workspace, or the host's spelling of one of these. Errors are [fs.PathError]s
// with the virtual path; errors.Is finds [fs.ErrNotExist], [fs.ErrPermission],
// and the sentinels of this package.
type Files interface {
	// Virtual is the clean virtual spelling of a path. It looks at no file.
	Virtual(path string) (string, error)
	// Stat describes a file or directory, links followed.
	Stat(ctx context.Context, path string) (Info, error)
	// Hash is the SHA-256 of a whole file, in hex.
	Hash(ctx context.Context, path string) (string, error)
	// Open opens a regular file for reading, as for a download.
	Open(ctx context.Context, path string) (io.ReadSeekCloser, Info, error)
	// ReadFile reads a range of lines as text, in constant memory.
	ReadFile(ctx context.Context, path string, o ReadOptions) (ReadResult, error)
	// WriteFile replaces a file or appends to it, as one step that is seen whole
	// or not at all; parent directories are made.
	WriteFile(ctx context.Context, path string, content io.Reader, o WriteOptions) (WriteResult, error)
	// Edit reads a file, lets change make the new content, and writes it, with
	// no other write of this provider in between. An error of change is returned
	// as it is.
	Edit(ctx context.Context, path string, change func(old []byte) ([]byte, error), o WriteOptions) (WriteResult, error)
	// List is the tree under a directory, two levels deep.
	List(ctx context.Context, path string) (Listing, error)
	// Glob finds files by name.
	Glob(ctx context.Context, path string, o GlobOptions) (Listing, error)
	// Grep finds lines in one file or in the files under a directory.
	Grep(ctx context.Context, path string, o GrepOptions) (GrepResult, error)
}

// Info describes a file or directory.
type Info struct {
	Path    string // virtual, as it was asked for
	Real    string // virtual, with links followed
	Size    int64  // bytes
	Dir     bool
	Mode    fs.FileMode
	ModTime time.Time
}
