package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// follow tells the events of a run until its stream has ended.
func (c *conversation) follow(ctx context.Context, stream *client.Stream) error {
	for frame, err := range stream.Frames(ctx) {
		if err != nil {
			return err
		}
		c.connected()
		if err := c.emit(frame); err != nil {
			return err
		}
		c.watch(frame)
		c.narrator.Event(frame.Event, frame.Data)
	}
	return nil
}

// event is one line of the jsonl output.
type event struct {
	Event string          `json:"event"`
	ID    string          `json:"id,omitempty"`
	Data  json.RawMessage `json:"data"`
}

func (c *conversation) emit(f client.Frame) error {
	if c.o.Format != cli.FormatJSONL {
		return nil
	}
	return c.o.Format.WriteJSON(c.o.Out, event{Event: f.Event, ID: f.ID, Data: f.Data})
}

// watch remembers what the end needs: the files that are presented and the reason of a failure.
func (c *conversation) watch(f client.Frame) {
	switch f.Event {
	case "metadata":
		c.run.Status = thread.RunRunning
	case "updates":
		c.watchArtifacts(f.Data)
	case "error":
		var failure struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(f.Data, &failure) == nil {
			c.failure = failure.Message
		}
	}
}

func (c *conversation) watchArtifacts(data json.RawMessage) {
	var nodes map[string]json.RawMessage
	if json.Unmarshal(data, &nodes) != nil {
		return
	}
	for _, change := range nodes {
		var state struct {
			Artifacts []string `json:"artifacts"`
		}
		if json.Unmarshal(change, &state) == nil {
			c.presented = append(c.presented, state.Artifacts...)
		}
	}
}

// giveUpAfter is how long a server may be away before a conversation ends without it.
const giveUpAfter = 5 * time.Minute

// errGone is why a conversation ends when its server does not come back.
var errGone = fmt.Errorf("%w for %s", client.ErrUnreachable, giveUpAfter)

// connection knows whether the server is away.
type connection struct {
	lostAt  time.Time // zero: it is not
	giveUp  context.CancelCauseFunc
	sending bool // an answer is under way, which only this process has
}

// reconnecting is told about every attempt to reach a server that is away; the person is told once.
func (c *conversation) reconnecting(lost error, _ time.Duration) {
	if c.link.lostAt.IsZero() {
		c.link.lostAt = c.o.Now()
		then := "Reconnecting; the run is not affected."
		if c.link.sending {
			then = "Reconnecting; your answer is kept and sent again."
		}
		c.progress.Note("The connection to the server is lost: %s\n%s", cli.Cut(cli.Clean(lost.Error()), maxReason), then)
		c.progress.Status("reconnecting")
	}
	if c.o.Now().Sub(c.link.lostAt) > giveUpAfter {
		c.link.giveUp(errGone)
	}
}

func (c *conversation) connected() {
	if c.link.lostAt.IsZero() {
		return
	}
	c.link.lostAt = time.Time{}
	c.progress.Note("Connected again.")
}

// patiently repeats a request while the server is away.
func (c *conversation) patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil {
			c.connected()
			return nil
		}
		if !errors.Is(err, client.ErrUnreachable) && !errors.Is(err, client.ErrUnavailable) {
			return err
		}
		c.reconnecting(err, retryPause)
		if sleep(ctx, retryPause) != nil {
			return err
		}
	}
}

// maxReason bounds, in columns, the reason of a lost connection.
const maxReason = 200

const retryPause = 500 * time.Millisecond

// sleep waits, or ends with the context's cause.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
