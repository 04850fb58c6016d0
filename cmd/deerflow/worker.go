package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"deerflow/internal/daemon"
)

const outsideHelp = `Where the others are stands in the environment, or in .env beside the configuration:

  DEERFLOW_DATABASE_URL     postgres://user:password@host:5432/deerflow
  TEMPORAL_ADDRESS          host:port of Temporal (default localhost:7233)
  TEMPORAL_NAMESPACE        its namespace (default "default")
  TEMPORAL_API_KEY, TEMPORAL_TLS, TEMPORAL_TLS_CLIENT_CERT_PATH, ...
                            as for every Temporal client; so are profiles in temporal.toml

--data-dir is shared by all of them: it has the files of the threads.

Exit code 2, one line, nothing changed: the configuration cannot be read or, for a
worker, names a sandbox that this machine does not have; the database is not named or
of a newer version.`

func newWorkerCommand(app App, g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Run a worker alone, beside Temporal, Postgres and 'deerflow api'",
		Long: `Runs a worker: it does the work of all threads, against a Temporal server and a
Postgres database that run elsewhere, and waits for both to come. Any number can run,
also on one host. SIGINT or SIGTERM stops it within ten seconds; what it was doing goes
on in another worker, or when one starts, also after a kill.

` + outsideHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := daemon.Options{
				ConfigPath: g.config, DataDir: g.dataDir, Version: readVersion(app.BuildInfo).Version, Progress: progress(app),
			}
			d, err := startPart(cmd.Context(), app, func(ctx context.Context) (*daemon.Daemon, error) { return daemon.StartWorker(ctx, o) })
			if d == nil {
				return err
			}
			_, _ = fmt.Fprintf(app.Out, "Worker           %s\nTemporal gRPC    %s\n", d.Identity, d.Temporal)
			return untilStopped(app, d, "runs that are not done go on in another worker, or when one starts")
		},
	}
}
