package main

import (
	"context"
	"fmt"

	"deerflow/internal/cli"
	"deerflow/internal/daemon"
)

// untilStopped waits for a signal, or for the end of a part, and stops a daemon in order; a second signal ends the
// process at once. What happens to unfinished runs is told to whoever stops it.
func untilStopped(app App, d *daemon.Daemon, runs string) error {
	say := func(text string) { _, _ = fmt.Fprintln(app.ErrOut, "deerflow: "+text) }
	var err error
	select {
	case <-app.Signals:
		say("stopping; " + runs)
	case err = <-d.Failed():
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		d.Stop()
	}()
	select {
	case <-stopped:
	case <-app.Signals:
		say("stopped at once")
		app.Exit(int(cli.ExitInterrupted))
	}
	if err != nil {
		return &cli.ExitError{Code: cli.ExitFailed, Err: err}
	}
	return nil
}

// startPart starts one part of the product, which may wait for others for long; a signal ends the wait. The daemon is
// nil, without an error, when one came.
func startPart(ctx context.Context, app App, start func(context.Context) (*daemon.Daemon, error)) (*daemon.Daemon, error) {
	ctx, cancel := context.WithCancel(ctx) // of the start alone
	defer cancel()
	type outcome struct {
		d   *daemon.Daemon
		err error
	}
	started := make(chan outcome, 1)
	go func() {
		d, err := start(ctx)
		started <- outcome{d, err}
	}()
	select {
	case o := <-started:
		if o.err != nil {
			return nil, startError(app, o.err)
		}
		warn(app, o.d)
		return o.d, nil
	case <-app.Signals:
		cancel()
		if o := <-started; o.err == nil {
			o.d.Stop()
		}
		_, _ = fmt.Fprintln(app.ErrOut, "deerflow: stopped before it was ready")
		return nil, nil
	}
}

// progress tells a person what is being done.
func progress(app App) func(string) {
	return func(what string) { _, _ = fmt.Fprintf(app.ErrOut, "deerflow: %s\n", cli.CleanLines(what)) }
}

// warn tells what is probably not meant to be as it is.
func warn(app App, d *daemon.Daemon) {
	for _, w := range d.Warnings {
		_, _ = fmt.Fprintf(app.ErrOut, "deerflow: warning: %s\n", w)
	}
	if d.CommandsOff != "" {
		_, _ = fmt.Fprintf(app.ErrOut, "deerflow: commands are off: %s (docs/sandboxes.md has the ways to allow them)\n", cli.CleanLines(d.CommandsOff))
	}
}
