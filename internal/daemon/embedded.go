package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"

	"deerflow/internal/devserver"
)

func (d *Daemon) startTemporal(ctx context.Context, o Options) (namespace string, err error) {
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: d.dataDir, Port: o.TemporalPort, UIPort: o.TemporalUIPort,
		SearchAttributes: searchAttributes(), Logger: d.log,
	})
	var port *devserver.PortError
	if errors.Is(err, devserver.ErrLocked) || errors.As(err, &port) {
		return "", &UsageError{Err: err}
	}
	if err != nil {
		return "", fmt.Errorf("start Temporal in %s: %w", d.dataDir, err)
	}
	d.later(server.Stop)
	d.Temporal, d.MovedAside = server.FrontendAddress(), server.MovedAside()
	if ui := server.UIAddress(); ui != "" {
		d.TemporalUI = "http://" + ui
	}
	return server.Namespace(), nil
}

// identity is the same for every process that has everything in it and works in
// this data directory, so that a start finds what a dead one had begun.
func (d *Daemon) identity() string {
	sum := sha256.Sum256([]byte(d.dataDir))
	return "deerflow-dev-" + hex.EncodeToString(sum[:6])
}

func (d *Daemon) dial(ctx context.Context, namespace string) (client.Client, error) {
	c, err := client.DialContext(ctx, client.Options{
		HostPort: d.Temporal, Namespace: namespace, Identity: d.identity(),
		Logger: tlog.NewStructuredLogger(quiet(d.log)),
		// On loopback, compressing costs more than it saves.
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s: %w", d.Temporal, err)
	}
	d.later(c.Close)
	return c, nil
}
