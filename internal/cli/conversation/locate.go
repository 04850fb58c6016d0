package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/cli/locate"
)

// server is what a conversation is held with.
type server struct {
	*locate.Server
	own  bool // it was started for this conversation
	stop func(context.Context) error
}

// stopTimeout is how long our own server may take to stop.
const stopTimeout = 15 * time.Second

// locate finds the server, or starts one.
func (c *conversation) locate(ctx context.Context) (*server, error) {
	where := locate.Options{
		Server: c.o.Server, DataDir: c.o.DataDir, DefaultServer: c.o.DefaultServer, APIKey: c.o.APIKey, Program: c.o.Program,
	}
	s, err := locate.Find(ctx, where)
	if errors.Is(err, locate.ErrNone) {
		return c.startOwn(ctx, &where)
	}
	if err != nil {
		return nil, err
	}
	return &server{Server: s}, nil
}

// startOwn starts a server for the time of the conversation.
func (c *conversation) startOwn(ctx context.Context, where *locate.Options) (*server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.o.StartServer == nil {
		return nil, where.None()
	}
	c.progress.Info("No server is running: one is started on %s for this run.", c.o.DataDir)
	c.progress.Status("starting")
	url, stop, err := c.o.StartServer(ctx)
	if err != nil {
		return nil, &cli.ExitError{
			Code: cli.CodeOf(err, cli.ExitUnreachable), Err: fmt.Errorf("starting a server on %s: %w", c.o.DataDir, err),
		}
	}
	s := &server{Server: &locate.Server{URL: url, Local: true}, own: true, stop: stop}
	if a, err := locate.ReadAnnouncement(c.o.DataDir); err == nil && a.URL == url {
		s.TemporalUI = a.TemporalUI
	}
	return s, nil
}
