package testkit

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
)

// Why the steps of a reply ended before the last one.
var (
	errClientGone   = errors.New("the client closed the connection")
	errServerClosed = errors.New("the model server was closed")
	errCut          = errors.New("the reply cut the connection, as scripted")
)

// exchange is one reply being carried out.
type exchange struct {
	req     *Request
	w       http.ResponseWriter
	stop    <-chan struct{} // closed when the server shuts down
	status  int
	header  http.Header
	started bool // the status line is on its way
}

// run carries the steps out and records how the reply ended.
func (x *exchange) run(steps []Step) error {
	for i, step := range steps {
		if err := step.do(x); err != nil {
			if errors.Is(err, errServerClosed) {
				return errors.Join(err, x.hangUp(false))
			}
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	x.start()
	return nil
}

// start sends the status and the headers, once.
func (x *exchange) start() {
	if x.started {
		return
	}
	x.started = true
	maps.Copy(x.w.Header(), x.header)
	x.w.WriteHeader(x.status)
}

func (x *exchange) write(b []byte) error {
	x.start()
	if _, err := x.w.Write(b); err != nil {
		x.req.markClosed()
		return errClientGone
	}
	return nil
}

func (x *exchange) flush() error {
	x.start()
	if err := http.NewResponseController(x.w).Flush(); err != nil {
		x.req.markClosed()
		return errClientGone
	}
	return nil
}

// wait returns when c is ready, the client has gone or the server closes.
func wait[T any](x *exchange, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-x.req.ctx.Done():
		x.req.markClosed()
		return errClientGone
	case <-x.stop:
		return errServerClosed
	}
}

// hangUp closes the TCP connection in the middle of the reply: with a reset,
// or with an orderly FIN that leaves the HTTP body unfinished.
func (x *exchange) hangUp(reset bool) error {
	if x.started {
		_ = x.flush() // what was written must arrive, or the client is gone anyway
	}
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return fmt.Errorf("take over the connection to close it: %w", err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		if err := tcp.SetLinger(0); err != nil {
			return errors.Join(fmt.Errorf("prepare the reset: %w", err), conn.Close())
		}
	}
	if err := conn.Close(); err != nil {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}
