package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"deerflow/internal/daemon"
)

func newAPICommand(app App, g *globals) *cobra.Command {
	o := daemon.Options{}
	cmd := &cobra.Command{
		Use:   "api",
		Short: "Serve the HTTP API alone, beside Temporal, Postgres and 'deerflow worker'",
		Long: `Serves the HTTP API against a Temporal server and a Postgres database that run
elsewhere. It keeps nothing: any number can run behind a load balancer, and a reader may
come back to another one. It starts when the database answers. Without Temporal it
answers 503 to new runs, without a worker they wait as pending; GET /health names the part
that is away. SIGINT or SIGTERM stops it within ten seconds; runs go on.

` + outsideHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.ConfigPath, o.DataDir = g.config, g.dataDir
			o.Version, o.Progress = readVersion(app.BuildInfo).Version, progress(app)
			d, err := startPart(cmd.Context(), app, func(ctx context.Context) (*daemon.Daemon, error) { return daemon.StartAPI(ctx, o) })
			if d == nil {
				return err
			}
			_, _ = fmt.Fprintf(app.Out, "API              %s\nTemporal gRPC    %s\n", d.URL, d.Temporal)
			return untilStopped(app, d, "runs go on")
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", defaultListen, "address to serve; port 0 picks a free one")
	return cmd
}
