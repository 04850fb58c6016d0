package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deerflow/internal/cli"
	"deerflow/internal/cli/conversation"
	"deerflow/internal/cli/threads"
)

// followFlags are those of the commands that follow a run.
type followFlags struct {
	noInput, quiet, cancelOnInterrupt bool
	timeout                           time.Duration
	format                            cli.Format
}

func (f *followFlags) register(cmd *cobra.Command) {
	f.format = cli.FormatText
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.VarP(&f.format, "output", "o", "output format")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.DurationVar(&f.timeout, "timeout", 0, "leave the run after this `TIME`, such as 10m (exit code 124)")
	flags.BoolVar(&f.cancelOnInterrupt, "cancel-on-interrupt", false, "cancel the run at Ctrl-C, SIGTERM or --timeout instead of leaving it")
}

// follow holds a conversation in the thread that id means.
func (c *threadsCommand) follow(cmd *cobra.Command, f *followFlags, id string, o conversation.Options) error {
	err := c.with(cmd.Context(), func(ctx context.Context, s *threads.Session) error {
		t, err := s.Find(ctx, id)
		o.Thread = t.ID
		return err
	})
	if err != nil {
		return err
	}
	at := c.at.options(c.app, c.g)
	o.Deps = conversation.Deps{
		IOStreams: c.app.IOStreams, Env: c.app.Env, Signals: c.app.Signals, Exit: c.app.Exit,
		Program: c.app.Program, DefaultServer: at.DefaultServer,
	}
	o.Server, o.APIKey, o.DataDir = at.Server, at.APIKey, at.DataDir
	o.NoInput = o.NoInput || f.noInput
	o.Quiet, o.Timeout, o.Format, o.CancelOnInterrupt = f.quiet, f.timeout, f.format, f.cancelOnInterrupt
	o.Flags = givenFlags(cmd.Flags(), "server", "data-dir")
	return conversation.Run(cmd.Context(), o)
}

func (c *threadsCommand) watch() *cobra.Command {
	f := followFlags{}
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow the newest run of a thread until it ends",
		Long: `Joins the newest run of a thread and follows it until it ends, with the output and
the exit codes of 'deerflow run'. It only watches: a question is shown and ends the
command with exit code 4. Ctrl-C leaves the run as it is.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.follow(cmd, &f, args[0], conversation.Options{Attach: true, NoInput: true})
		},
	}
	f.register(cmd)
	return cmd
}

func (c *threadsCommand) reply() *cobra.Command {
	f := followFlags{}
	noWait := false
	cmd := &cobra.Command{
		Use:   "reply ID TEXT",
		Short: "Answer the question of a thread, or send it a message, and follow the run",
		Long: `Answers the question that a thread waits with: TEXT is an answer in your own words,
or the number or label of an option. Without an open question it is the next message.
TEXT may be - for all of standard input. Follows the run like 'deerflow run', with its
exit codes, and asks you when the run asks again.`,
		Example: `  deerflow threads reply 3f2a 2
  deerflow threads reply 3f2a "The second one, and in German"
  deerflow threads reply 3f2a - --no-wait < answer.txt`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !noWait {
				return c.follow(cmd, &f, args[0], conversation.Options{Question: args[1], Reply: true})
			}
			return c.with(cmd.Context(), func(ctx context.Context, s *threads.Session) error {
				text, err := c.text(ctx, args[1])
				if err != nil {
					return err
				}
				return s.Send(ctx, args[0], text)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.noInput, "no-input", false, "never ask: another question ends the command with exit code 4")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return when the server has taken the text")
	return cmd
}

// text is an argument, or all of the standard input for -.
func (c *threadsCommand) text(ctx context.Context, arg string) (string, error) {
	if arg == "-" {
		text, err := cli.NewLineReader(c.app.In).All(ctx)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		arg = strings.TrimRight(text, "\r\n")
	}
	if strings.TrimSpace(arg) == "" {
		return "", cli.Exitf(cli.ExitUsage, "the text is empty")
	}
	return arg, nil
}
