package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"deerflow/internal/cli"
	"deerflow/internal/cli/conversation"
)

// runFlags are the flags of run.
type runFlags struct {
	server, apiKey, model, thread             string
	files                                     []string
	attach, noInput, cancelOnInterrupt, quiet bool
	timeout                                   time.Duration
	format                                    cli.Format
}

const runLong = `Asks a question and follows the run until it has ended. The answer, and after it the
text of the reports that were presented, go to standard output; progress, questions
and where files are go to standard error.

The server is the one of --server; without it, the one that runs on --data-dir, else,
when no data directory is given, ` + defaultServer + `. When there is none, one is
started for the time of the run.

The run does not depend on this command: Ctrl-C leaves it and says how to come back,
and so do --timeout and a question that nobody answers. A question of the run is
asked here: type the number of an option or an answer in your own words. When
standard input is no terminal, its next line is the answer.

With -o json, standard output is one object: thread_id, run_id, status, stop_reason,
answer, files, question, error, usage. With -o jsonl it is one object a line: the
events of the run as the API streams them, {"event", "id", "data"}, then
{"event": "result", "data": ...} with that object.

` + exitCodesHelp

const runExample = `  deerflow run "What changed in Go 1.26?"
  deerflow run "Compare these offers" offer-a.pdf offer-b.pdf
  git diff | deerflow run - -f CONTRIBUTING.md
  deerflow run --thread ID "And what about the licence?"
  deerflow run --thread ID --attach
  deerflow run -o json --no-input "..." | jq -r .answer`

func newRunCommand(app App, g *globals) *cobra.Command {
	f := runFlags{format: cli.FormatText}
	cmd := &cobra.Command{
		Use:     "run QUESTION [FILE...]",
		Short:   "Ask a question and follow the run to its answer",
		Long:    runLong,
		Example: runExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			return conversation.Run(cmd.Context(), f.options(app, g, cmd.Flags(), args))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVarP(&f.files, "file", "f", nil, "upload `FILE`; can be given several times")
	flags.StringVar(&f.thread, "thread", "", "go on in the thread with this `ID`")
	flags.BoolVar(&f.attach, "attach", false, "follow the newest run of --thread again, and answer its question")
	flags.StringVar(&f.model, "model", "", "`NAME` of a model in the server's configuration (default: the server's choice)")
	flags.StringVar(&f.server, "server", "", "`URL` of the server (env DEERFLOW_SERVER)")
	flags.StringVar(&f.apiKey, "api-key", "", "`KEY` that the server asks for (env DEERFLOW_API_KEY)")
	flags.VarP(&f.format, "output", "o", "output format")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.BoolVar(&f.noInput, "no-input", false, "never ask: a question of the run ends the command with exit code 4")
	flags.DurationVar(&f.timeout, "timeout", 0, "leave the run after this `TIME`, such as 10m (exit code 124)")
	flags.BoolVar(&f.cancelOnInterrupt, "cancel-on-interrupt", false, "cancel the run at Ctrl-C, SIGTERM or --timeout instead of leaving it")
	return cmd
}

// options puts together what the conversation needs.
func (f *runFlags) options(app App, g *globals, set *pflag.FlagSet, args []string) conversation.Options {
	o := conversation.Options{
		Deps: conversation.Deps{
			IOStreams: app.IOStreams, Env: app.Env, Signals: app.Signals, Exit: app.Exit,
			Program: app.Program, DefaultServer: g.usualServer(app),
		},
		Files: f.files, Thread: f.thread, Attach: f.attach, Model: f.model,
		Server: firstOf(f.server, app.Env("DEERFLOW_SERVER")), APIKey: firstOf(f.apiKey, app.Env("DEERFLOW_API_KEY")),
		DataDir: g.dataDir, Config: g.config,
		NoInput: f.noInput, CancelOnInterrupt: f.cancelOnInterrupt, Quiet: f.quiet, Timeout: f.timeout, Format: f.format,
		Flags: givenFlags(set, "server", "data-dir", "config"),
	}
	if len(args) > 0 {
		o.Question = args[0]
		o.Files = append(append([]string{}, args[1:]...), f.files...)
	}
	if app.StartServer != nil {
		o.StartServer = func(ctx context.Context) (string, func(context.Context) error, error) {
			return app.StartServer(ctx, DevOptions{ConfigPath: g.config, DataDir: g.dataDir, Listen: "127.0.0.1:0"})
		}
	}
	return o
}

// givenFlags are those of the named flags that stand on the command line, as they could stand on the next one.
func givenFlags(set *pflag.FlagSet, names ...string) []string {
	var given []string
	for _, name := range names {
		if flag := set.Lookup(name); flag != nil && flag.Changed {
			given = append(given, "--"+name, flag.Value.String())
		}
	}
	return given
}
