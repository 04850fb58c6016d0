package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"deerflow/internal/cli"
	"deerflow/internal/cli/locate"
	"deerflow/internal/daemon"
)

// Ports of the dev command, unless flags say otherwise.
const (
	defaultListen         = "127.0.0.1:2026"
	defaultTemporalPort   = 7233
	defaultTemporalUIPort = 8233
)

func newDevCommand(app App, g *globals) *cobra.Command {
	o := daemon.Options{}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything in this process: Temporal, its Web UI, the worker and the API",
		Long: `Runs everything in this process, with nothing else to install: Temporal and the
product's database (two SQLite files in --data-dir), the Temporal Web UI, the worker
and the API. Ready when GET /health says 200. SIGINT or SIGTERM stops it within ten
seconds; runs that are not done go on at the next start, also after a kill.

Exit code 2, one line, nothing changed: the data directory is in use, a port is
taken, the configuration cannot be read or names a sandbox that this machine does not
have, or the database is of a newer version.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.ConfigPath, o.DataDir = g.config, g.dataDir
			o.Version = readVersion(app.BuildInfo).Version
			return runDev(cmd.Context(), app, o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", defaultListen, "address of the API; beyond loopback callers need a key; port 0 picks a free one")
	cmd.Flags().IntVar(&o.TemporalPort, "temporal-port", defaultTemporalPort, "port of Temporal's gRPC frontend; 0 picks a free one")
	cmd.Flags().IntVar(&o.TemporalUIPort, "temporal-ui-port", defaultTemporalUIPort, "port of Temporal's Web UI; 0 picks a free one")
	return cmd
}

func runDev(ctx context.Context, app App, o daemon.Options) error {
	began := time.Now()
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(app.ErrOut, format+"\n", args...) }
	o.Progress = func(what string) { say("deerflow: %s", what) }
	d, err := daemon.Start(ctx, o)
	if err != nil {
		return startError(app, alreadyRunning(ctx, o.DataDir, err))
	}
	warn(app, d)
	if d.MovedAside != "" {
		say("deerflow: the Temporal database was written by another version and stands now in %s; threads go on from their checkpoints", d.MovedAside)
	}
	say("deerflow: ready in %.1fs", time.Since(began).Seconds())
	_, _ = fmt.Fprintf(app.Out, "API              %s\nTemporal Web UI  %s\nTemporal gRPC    %s\n", d.URL, d.TemporalUI, d.Temporal)
	say("deerflow: ask something with: %s \"...\" FILE...   (Ctrl-C stops; runs go on at the next start)", askCommand(app, o.DataDir))
	return untilStopped(app, d, "runs that are not done go on at the next start")
}

// askCommand is how a question is put to the server of a data directory, from the same directory as this command.
func askCommand(app App, dataDir string) string {
	command := cli.Quoted(cli.ProgramName(app.Program)) + " run"
	if dataDir != defaultDataDir {
		command += " --data-dir " + cli.Quoted(dataDir)
	}
	return command
}

// alreadyRunning puts that the data directory's own server runs in the place of an error about a taken port.
func alreadyRunning(ctx context.Context, dataDir string, err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	a, unknown := locate.ReadAnnouncement(dataDir)
	if unknown != nil {
		return err
	}
	if _, probed := locate.Probe(ctx, a.URL); !locate.IsServer(probed) {
		return err // it was killed, and has left its announcement behind
	}
	return &daemon.UsageError{Err: fmt.Errorf("the server of the data directory %s runs already: %s, process %d", dataDir, a.URL, a.PID)}
}

// startError gives a mistake of the user's in its own words, and the code 2.
func startError(app App, err error) error {
	var mistake *daemon.UsageError
	if errors.As(err, &mistake) {
		_, _ = fmt.Fprintf(app.ErrOut, "deerflow: %s\n", cli.CleanLines(mistake.Error()))
		return &cli.ExitError{Code: cli.ExitUsage}
	}
	return &cli.ExitError{Code: cli.ExitFailed, Err: err}
}

// startServer is the server that run starts for itself when it finds none.
func startServer(ctx context.Context, o DevOptions) (string, func(context.Context) error, error) {
	d, err := daemon.Start(ctx, daemon.Options{
		ConfigPath: o.ConfigPath, DataDir: o.DataDir, Listen: o.Listen,
		TemporalPort: o.TemporalPort, TemporalUIPort: o.TemporalUIPort,
		// The terminal belongs to the run.
		Logger: daemon.ErrorLogger(os.Stderr),
	})
	if err != nil {
		var mistake *daemon.UsageError
		if errors.As(err, &mistake) {
			err = &cli.ExitError{Code: cli.ExitUsage, Err: mistake}
		}
		return "", nil, err
	}
	stop := func(ctx context.Context) error {
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			d.Stop()
		}()
		select {
		case <-stopped:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("stop the server in %s: %w", o.DataDir, ctx.Err())
		}
	}
	return d.URL, stop, nil
}
