package testkit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Step is one thing a reply does. Steps are carried out in order; a client
// that closes the connection ends them.
type Step struct {
	do func(*exchange) error
}

// Write writes bytes without flushing them. The first write sends the status
// and the headers.
func Write(b []byte) Step {
	return Step{func(x *exchange) error { return x.write(b) }}
}

// Flush sends what was written so far, and the headers if nothing was.
func Flush() Step {
	return Step{func(x *exchange) error { return x.flush() }}
}

// Send writes bytes and flushes them: one HTTP chunk, and on loopback in most
// cases one read of the client.
func Send(text string) Step {
	return Step{func(x *exchange) error {
		if err := x.write([]byte(text)); err != nil {
			return err
		}
		return x.flush()
	}}
}

// Event sends one server-sent event with the given data, which may be broken
// JSON. Data of several lines becomes several data lines.
func Event(data string) Step {
	return Send("data: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n")
}

// Comment sends one server-sent comment, as routers do to keep a stream open.
func Comment(text string) Step {
	return Send(": " + text + "\n\n")
}

// Delta sends one stream chunk whose only choice has the given delta, a JSON
// object such as {"content":"Hi"}, and the finish reason unless that is empty.
func Delta(delta, finish string) Step {
	return Step{func(x *exchange) error {
		return sendJSON(x, newChunk(x.req, json.RawMessage(delta), finish))
	}}
}

// Done sends the [DONE] event that ends a stream.
func Done() Step {
	return Event("[DONE]")
}

// Pause waits.
func Pause(d time.Duration) Step {
	return Step{func(x *exchange) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		return wait(x, timer.C)
	}}
}

// Hold waits at a gate until the test releases it.
func Hold(g *Gate) Step {
	return Step{func(x *exchange) error { return wait(x, g.arrive()) }}
}

// Hang waits until the client closes the connection.
func Hang() Step {
	return Step{func(x *exchange) error { return wait(x, make(chan struct{})) }}
}

// Do calls a function of the test in the middle of a reply.
func Do(f func()) Step {
	return Step{func(*exchange) error {
		f()
		return nil
	}}
}

// Cut sends what was written and closes the connection with a FIN while the
// HTTP body is unfinished: the client reads an unexpected EOF.
func Cut() Step {
	return Step{func(x *exchange) error { return cut(x, false) }}
}

// Reset sends what was written and closes the connection with a TCP reset.
func Reset() Step {
	return Step{func(x *exchange) error { return cut(x, true) }}
}

// End ends the HTTP body in good order and leaves the remaining steps out: the
// client reads a plain EOF, with no finish_reason and no [DONE].
func End() Step {
	return Step{func(x *exchange) error {
		x.start()
		return errCut
	}}
}

func cut(x *exchange, reset bool) error {
	if err := x.hangUp(reset); err != nil {
		return err
	}
	return errCut
}

func sendJSON(x *exchange, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a stream chunk: %w", err)
	}
	return Event(string(data)).do(x)
}
