package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Reasons why a call ends itself.
var (
	errIdle    = errors.New("the provider was silent for too long")
	errTimeout = errors.New("the whole answer took too long")
	errLinger  = errors.New("the answer is complete")
	errTooBig  = errors.New("the answer is larger than the limit")
)

const (
	// maxBody is the largest answer that is read, in bytes.
	maxBody = 64 << 20
	// maxErrorBody is how much of an error answer is read, in bytes.
	maxErrorBody = 64 << 10
	// lingerTime is how long an answer that is complete is read on, for the
	// usage that may follow; drainTime the same after the end mark, so that the
	// connection can be used again.
	lingerTime = 5 * time.Second
	drainTime  = 50 * time.Millisecond
	// pingAfter is the silence after which a connection is asked for, and how
	// long its answer may take.
	pingAfter = 15 * time.Second
)

// NewTransport is a transport for the clients of one process to share: like the
// standard one, with room for many connections to the same provider, and with a
// check whether a connection is still there, which it is not after a sleep.
func NewTransport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t = t.Clone()
	t.MaxIdleConns = 256
	t.MaxIdleConnsPerHost = 64
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter}
	return t
}

// watch ends a call that has been silent for too long. It runs only while the
// call waits for the provider, never while the caller works.
type watch struct {
	cancel context.CancelCauseFunc
	usual  time.Duration // 0: no limit
	limit  time.Duration // the limit now
	reason error
	timer  *time.Timer
}

func newWatch(cancel context.CancelCauseFunc, limit time.Duration) *watch {
	return &watch{cancel: cancel, usual: limit, limit: limit, reason: errIdle}
}

// tighten lowers the limit and changes the reason.
func (w *watch) tighten(limit time.Duration, reason error) {
	if w.limit == 0 || limit < w.limit {
		w.limit = limit
	}
	w.reason = reason
}

// relax returns to the usual limit.
func (w *watch) relax() { w.limit, w.reason = w.usual, errIdle }

func (w *watch) start() {
	if w.limit <= 0 {
		return
	}
	cancel, reason := w.cancel, w.reason
	w.timer = time.AfterFunc(w.limit, func() { cancel(reason) })
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// bodyReader reads an answer under a watch and a limit of size.
type bodyReader struct {
	body  io.Reader
	watch *watch
	left  int64
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooBig
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	b.watch.start()
	n, err := b.body.Read(p)
	b.watch.stop()
	b.left -= int64(n)
	return n, err
}
