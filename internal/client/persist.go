package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 3 * time.Second
)

// backoff is the pause before each attempt, longer each time.
type backoff struct{ first, pause time.Duration }

func (c *Client) backoff() backoff { return backoff{first: c.firstPause} }

// next is the pause to make now. Clients that lost the same server do not come
// back all at once.
func (b *backoff) next() time.Duration {
	b.pause = min(max(2*b.pause, b.first), maxPause)
	return b.pause/2 + rand.N(b.pause/2) //nolint:gosec // it only spreads load
}

func (b *backoff) reset() { b.pause = 0 }

// persist calls again while the server is away, until ctx ends.
func (c *Client) persist(ctx context.Context, call func() error) error {
	b := c.backoff()
	for {
		err := call()
		if err == nil || !mayPass(err) || ctx.Err() != nil {
			return err
		}
		if err := c.pause(ctx, &b, err); err != nil {
			return err
		}
	}
}

// pause waits before the next attempt and tells why.
func (c *Client) pause(ctx context.Context, b *backoff, lost error) error {
	wait := b.next()
	if c.o.OnReconnect != nil {
		c.o.OnReconnect(lost, wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), lost)
	}
}

// mayPass reports whether another attempt may do better.
func mayPass(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.passing()
	}
	return errors.Is(err, ErrUnreachable)
}
