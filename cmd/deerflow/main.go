package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	_ "time/tzdata" // the date is told in the user's zone, also where the system has no zones

	"deerflow/internal/cli"
	"deerflow/internal/descriptors"
)

func main() {
	descriptors.Keep() // before anything is started
	// Two signals are kept: the second one ends a process that does not come to its end after the first.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(execute(App{
		IOStreams:     cli.SystemStreams(),
		Program:       calledBy(os.Args),
		Env:           os.Getenv,
		Signals:       signals,
		Exit:          os.Exit,
		StartServer:   startServer,
		DefaultServer: defaultServer,
		BuildInfo:     debug.ReadBuildInfo,
	}, os.Args[1:]))
}

// calledBy is the name that the program was called by, as it was typed.
func calledBy(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// execute runs a command line and returns the exit code; what went wrong stands on ErrOut by then.
func execute(app App, args []string) int {
	root := newRootCommand(app)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(context.Background())
	if err == nil {
		return int(cli.ExitDone)
	}
	// Errors of a command's own carry their code; all others come from parsing the command line.
	code := cli.CodeOf(err, cli.ExitUsage)
	var exit *cli.ExitError
	if !errors.As(err, &exit) || exit.Err != nil {
		suggestions := strings.NewReplacer("\n\nDid you mean this?\n\t", "; did you mean: ", "\n\t", ", ")
		text := strings.TrimSpace(cli.CleanLines(suggestions.Replace(err.Error())))
		if code == cli.ExitUsage {
			text += fmt.Sprintf("\nRun '%s --help' for usage.", cmd.CommandPath())
		}
		_, _ = fmt.Fprintf(app.ErrOut, "deerflow: %s\n", text)
	}
	return int(code)
}
