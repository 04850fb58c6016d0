package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"deerflow/internal/cli"
	"deerflow/internal/cli/locate"
	"deerflow/internal/cli/threads"
)

// serverFlags say which server a command speaks to.
type serverFlags struct{ server, apiKey string }

func (f *serverFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "server", "", "`URL` of the server (env DEERFLOW_SERVER)")
	flags.StringVar(&f.apiKey, "api-key", "", "`KEY` that the server asks for (env DEERFLOW_API_KEY)")
}

func (f *serverFlags) options(app App, g *globals) locate.Options {
	return locate.Options{
		Server: firstOf(f.server, app.Env("DEERFLOW_SERVER")), APIKey: firstOf(f.apiKey, app.Env("DEERFLOW_API_KEY")),
		DataDir: g.dataDir, DefaultServer: g.usualServer(app), Program: app.Program,
	}
}

// threadsCommand is what the commands below threads share.
type threadsCommand struct {
	app App
	g   *globals
	at  serverFlags
}

const threadsLong = `Lists the conversations of a server and works on one of them.

An ID may be cut short as long as no other thread begins so. The server is the one of
--server; without it, the one that runs on --data-dir, else, when no data directory is
given, ` + defaultServer + `. None is started: exit code 10 says that there is none, 11 that there is no such thread.

` + exitCodesHelp

func newThreadsCommand(app App, g *globals) *cobra.Command {
	c := &threadsCommand{app: app, g: g}
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List, show, watch, answer, cancel, export and delete conversations",
		Long:  threadsLong,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.at.register(cmd.PersistentFlags())
	cmd.AddCommand(c.list(), c.show(), c.watch(), c.reply(), c.cancel(), c.export(), c.delete())
	return cmd
}

// with runs do on the server's threads. The first signal ends it.
func (c *threadsCommand) with(ctx context.Context, do func(context.Context, *threads.Session) error) error {
	ctx, stop := untilSignal(ctx, c.app.Signals)
	defer stop()
	s, err := threads.Open(ctx, threads.Options{IOStreams: c.app.IOStreams, Options: c.at.options(c.app, c.g)})
	if err == nil {
		defer s.Close()
		err = do(ctx, s)
	}
	if err != nil && errors.Is(context.Cause(ctx), errSignal) {
		return cli.Exitf(cli.ExitInterrupted, "%w", errSignal)
	}
	return err
}

var errSignal = errors.New("interrupted")

// untilSignal is a context that ends with the first signal.
func untilSignal(ctx context.Context, signals <-chan os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-signals:
			cancel(errSignal)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

func (c *threadsCommand) list() *cobra.Command {
	o := threads.ListOptions{Format: cli.FormatText}
	status := ""
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List threads, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Status, err = threads.ParseStatus(status); err != nil {
				return err
			}
			return c.with(cmd.Context(), func(ctx context.Context, s *threads.Session) error { return s.List(ctx, o) })
		},
	}
	cmd.Flags().VarP(&o.Format, "output", "o", "output format")
	cmd.Flags().StringVar(&status, "status", "", "only threads that are in this `STATUS`: waiting, working, done or failed")
	cmd.Flags().IntVar(&o.Limit, "limit", 20, "how many threads at most")
	return cmd
}

func (c *threadsCommand) show() *cobra.Command {
	o := threads.ShowOptions{Format: cli.FormatText}
	source := ""
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show what was said and done in a thread, and what it waits for",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(ctx context.Context, s *threads.Session) error {
				if cmd.Flags().Changed("source") {
					return s.Source(ctx, args[0], source)
				}
				return s.Show(ctx, args[0], o)
			})
		},
	}
	cmd.Flags().VarP(&o.Format, "output", "o", "output format")
	cmd.Flags().BoolVar(&o.Sources, "sources", false, "list the pages that its tools have fetched and found, too")
	cmd.Flags().StringVar(&source, "source", "", "show the text that was kept of a page instead, by the `HASH` that --sources shows")
	cmd.MarkFlagsMutuallyExclusive("source", "sources")
	cmd.MarkFlagsMutuallyExclusive("source", "output")
	return cmd
}

func (c *threadsCommand) cancel() *cobra.Command {
	rollback := false
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Stop the active runs of a thread, or close its question",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(ctx context.Context, s *threads.Session) error { return s.Cancel(ctx, args[0], rollback) })
		},
	}
	cmd.Flags().BoolVar(&rollback, "rollback", false, "make the thread as it was before the run")
	return cmd
}

func (c *threadsCommand) export() *cobra.Command {
	o := threads.ExportOptions{}
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a whole thread as Markdown or JSON, or its report as a document",
		Long: `Writes a whole thread as Markdown or JSON. With --report, or as HTML or PDF, writes its last
answer, or the file that --path names, with what its citations rest on.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(ctx context.Context, s *threads.Session) error { return s.Export(ctx, args[0], o) })
		},
	}
	cmd.Flags().StringVar(&o.Format, "format", threads.ExportMarkdown, "md or json; html or pdf of a report")
	cmd.Flags().BoolVar(&o.Report, "report", false, "the last answer instead of the whole thread")
	cmd.Flags().StringVar(&o.Path, "path", "", "`FILE` of the thread instead of the last answer, such as report.md")
	cmd.Flags().StringVarP(&o.File, "output-file", "O", "", "write to `FILE` instead of standard output")
	return cmd
}

func (c *threadsCommand) delete() *cobra.Command {
	o := threads.DeleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a thread with its messages and files",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(ctx context.Context, s *threads.Session) error { return s.Delete(ctx, args[0], o) })
		},
	}
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask; needed when standard input is no terminal")
	return cmd
}
