package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"deerflow/internal/cli"
)

const exitCodesHelp = `Exit codes:
    0  done
    1  failed
    2  wrong usage or configuration; nothing was started
    3  finished early with a partial result (a limit was reached)
    4  waits for a person's answer
   10  the server, or a part it needs, cannot be reached
   11  no such thread or run
   12  not authenticated, or not allowed
  124  the time limit of --timeout has passed
  130  interrupted (the run goes on), or the run was stopped`

// newRootCommand makes the whole command line.
func newRootCommand(app App) *cobra.Command {
	g := &globals{}
	root := &cobra.Command{
		Use:   "deerflow",
		Short: "Research agents as durable workflows",
		Long: `deerflow runs research agents on long questions. Every conversation is a durable
Temporal workflow: a crash, a restart or a closed laptop costs nothing.

Data goes to standard output, everything else to standard error.

` + exitCodesHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			g.resolve(app.Env)
		},
	}
	root.SetIn(app.In)
	root.SetOut(app.Out)
	root.SetErr(app.ErrOut)
	root.PersistentFlags().StringVar(&g.config, "config", "", "config.yaml to use: a `FILE` (env DEERFLOW_CONFIG)")
	root.PersistentFlags().StringVar(&g.dataDir, "data-dir", "",
		"`DIR` of databases and files (env DEERFLOW_DATA_DIR, default "+defaultDataDir+")")
	root.AddCommand(newDevCommand(app, g))
	root.AddCommand(newAPICommand(app, g))
	root.AddCommand(newWorkerCommand(app, g))
	root.AddCommand(newRunCommand(app, g))
	root.AddCommand(newThreadsCommand(app, g))
	root.AddCommand(newDoctorCommand(app, g))
	root.AddCommand(newKeysCommand(app, g))
	root.AddCommand(newConfigCommand(app, g))
	root.AddCommand(newVersionCommand(app))
	root.AddCommand(newConvertDocumentCommand(app))
	markFailures(root)
	nameProgram(root, cli.ProgramName(app.Program))
	return root
}

// nameProgram puts the name that the program was called by into the commands of the help.
func nameProgram(cmd *cobra.Command, program string) {
	if !cmd.HasParent() {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: program}
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "deerflow ", program+" ")
	cmd.Long = strings.ReplaceAll(cmd.Long, "'deerflow ", "'"+program+" ")
	cmd.Short = strings.ReplaceAll(cmd.Short, "'deerflow ", "'"+program+" ")
	for _, sub := range cmd.Commands() {
		nameProgram(sub, program)
	}
}

// markFailures gives the errors of commands the exit code 1 where they have none, which tells them from errors in the
// command line.
func markFailures(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			var exit *cli.ExitError
			if err == nil || errors.As(err, &exit) {
				return err
			}
			return &cli.ExitError{Code: cli.ExitFailed, Err: err}
		}
	}
	for _, sub := range cmd.Commands() {
		markFailures(sub)
	}
}
