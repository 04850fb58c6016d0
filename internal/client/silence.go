package client

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// silence watches a connection on which something should come now and then. A
// peer that vanished without a word is found that way.
type silence struct {
	cancel context.CancelFunc
	timer  *time.Timer
	limit  time.Duration
	broken atomic.Bool // it was silence that ended the connection
}

// watchSilence gives a context that ends when nothing was read for too long.
func watchSilence(ctx context.Context, limit time.Duration) (context.Context, *silence) {
	ctx, cancel := context.WithCancel(ctx)
	s := &silence{limit: limit, cancel: cancel}
	s.timer = time.AfterFunc(limit, func() {
		s.broken.Store(true)
		cancel()
	})
	return ctx, s
}

func (s *silence) stop() {
	s.timer.Stop()
	s.cancel()
}

// explain says that it was silence, not the caller, that ended a request.
func (s *silence) explain(err error) error {
	if s.broken.Load() {
		return fmt.Errorf("%w: it gave no sign of life for %s", ErrUnreachable, s.limit)
	}
	return err
}

// reader is r, each of whose bytes is a sign of life.
func (s *silence) reader(r io.Reader) io.Reader { return noisy{r, s} }

type noisy struct {
	r io.Reader
	s *silence
}

func (n noisy) Read(p []byte) (int, error) {
	count, err := n.r.Read(p)
	if count > 0 {
		n.s.timer.Reset(n.s.limit)
	}
	return count, err
}
