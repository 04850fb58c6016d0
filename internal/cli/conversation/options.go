package conversation

import (
	"context"
	"errors"
	"os"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/thread"
)

// Options say what is asked, of whom, and how. Deps must be complete; of the rest only Question, or Attach with Thread,
// is required.
type Options struct {
	Deps

	Question string   // "-": all of the standard input
	Files    []string // on this machine, to be uploaded
	Thread   string   // the thread to go on in; empty: a new one
	Attach   bool     // follow the newest run of Thread, without a question
	Reply    bool     // Question answers what Thread waits for, if it waits
	Model    string   // name in the server's configuration; empty: its default

	Server  string // base URL of the only server that will do; empty: see [locate.Find]
	APIKey  string
	DataDir string // where a server of this machine announces itself, and keeps its files
	Config  string // of a server that is started here

	NoInput           bool
	CancelOnInterrupt bool
	Quiet             bool
	Timeout           time.Duration // 0: none
	Format            cli.Format    // empty: text

	// Flags are what a command that comes back to this conversation needs beside the thread, as they were given on the
	// command line.
	Flags []string
}

// Deps are the parts of the outside world that a conversation touches.
type Deps struct {
	cli.IOStreams
	// Program is how this program is called in the commands that are told to a person; empty: deerflow.
	Program string
	Env     func(string) string
	Signals <-chan os.Signal
	// Exit ends the process at a second signal.
	Exit func(code int)
	// DefaultServer is the base URL that is asked when nothing else names a server; empty: none is asked.
	DefaultServer string
	// StartServer starts a server in this process. Nil: there must be one.
	StartServer func(ctx context.Context) (url string, stop func(context.Context) error, err error)
	Now         func() time.Time
}

// check refuses what cannot be meant.
func (o *Options) check() error {
	if o.Format == "" {
		o.Format = cli.FormatText
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	switch {
	case o.Thread != "" && !thread.ValidID(o.Thread):
		return cli.Exitf(cli.ExitUsage, "--thread %q is no thread id: it has 1 to 64 letters, digits, '_' and '-'", o.Thread)
	case o.Attach && o.Thread == "":
		return usage("--attach needs --thread with the id of the thread to come back to")
	case o.Attach && (o.Question != "" || len(o.Files) > 0):
		return usage("--attach follows a run that was started before: it takes no question and no files")
	case !o.Attach && o.Question == "":
		return usage("a question is needed, or - to read it from standard input")
	case o.Reply && o.Thread == "":
		return usage("a reply needs the thread that it is meant for")
	case o.Timeout < 0:
		return cli.Exitf(cli.ExitUsage, "--timeout is %s: it must not be negative", o.Timeout)
	}
	return nil
}

func usage(text string) error { return &cli.ExitError{Code: cli.ExitUsage, Err: errors.New(text)} }
