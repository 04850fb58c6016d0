package sandbox

import (
	"context"
	"strings"
	"time"
)

// Runner runs the commands of sandboxes whose files are directories of this
// host. [Local] keeps the files and asks a runner for the rest.
type Runner interface {
	// Name begins the ids of the sandboxes: "<name>:<user>:<thread>".
	Name() string
	// HostPaths reports whether commands see the paths of this host. For such a
	// runner the virtual paths in a command are rewritten and the guard looks for
	// paths that lead out; another one shows the mounts where they claim to be.
	HostPaths() bool
	// Run runs a command to its end, the end of the context or its timeout,
	// whichever is first, and leaves nothing of it behind that a later call does
	// not know of. A command that fails is a result. The error is the context's,
	// with the output so far, a [CommandError], an [UnreachableError] when there is
	// nothing to run it on, or what else went wrong, which the caller reports as
	// [ErrUnavailable]. The output may be raw bytes:
	// what must not be shown is taken out by the caller.
	Run(ctx context.Context, j Job) (ExecResult, error)
	// Remove frees what is kept for a thread that is deleted. It is no error when
	// there is nothing.
	Remove(ctx context.Context, user, threadID string) error
	// Close ends what still runs.
	Close() error
}

// Notes is what a model has to know about commands in the sandboxes of a provider,
// as lines of a list in Markdown; empty when there is nothing to say. Providers and
// runners have a method Notes if they have something to say.
func Notes(of any) string {
	if n, ok := of.(interface{ Notes() string }); ok {
		return n.Notes()
	}
	return ""
}

// SameFiles reports whether two sandbox ids name the same files of one thread: the
// directories of this host, whatever runs the commands over them.
func SameFiles(a, b string) bool {
	kindA, ownerA, okA := strings.Cut(a, ":")
	kindB, ownerB, okB := strings.Cut(b, ":")
	return okA && okB && ownerA == ownerB && onHost(kindA) && onHost(kindB)
}

// onHost reports whether sandboxes whose ids begin so have their files on the host.
func onHost(name string) bool {
	return name == localName || name == bubblewrapName || name == "docker" || name == "remote"
}

// Job is a command for a [Runner].
type Job struct {
	// User and Thread say whose command it is: the name of the user's directory
	// (see [UserDir]) and the thread id. Both are made of letters, digits, "_" and
	// "-".
	User, Thread string
	// Line is shell text; Dir is where it starts, as the command sees it.
	Line, Dir string
	// Mounts are what the command may see, a mount always before
	// those inside it.
	Mounts []Mount
	// Env is set beside the runner's own small environment, and wins over it.
	Env map[string]string
	// Timeout bounds the command; always set.
	Timeout time.Duration
}
