package testkit

import "sync"

// Gate is a place in a reply where the server waits for the test. The test
// waits for Reached, does what it came for, and calls Release. One gate may
// hold any number of replies; once released it stays open.
type Gate struct {
	mu       sync.Mutex
	arrivals int
	reached  chan struct{}
	released chan struct{}
	open     bool
}

// NewGate returns a closed gate.
func NewGate() *Gate {
	return &Gate{reached: make(chan struct{}), released: make(chan struct{})}
}

// Reached is closed when the first reply stands at the gate (or passes it).
func (g *Gate) Reached() <-chan struct{} {
	return g.reached
}

// Arrivals returns how many replies have come to the gate so far.
func (g *Gate) Arrivals() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.arrivals
}

// Release opens the gate for good. It may be called more than once.
func (g *Gate) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		g.open = true
		close(g.released)
	}
}

// arrive notes one reply and returns the channel that it waits on.
func (g *Gate) arrive() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.arrivals++
	if g.arrivals == 1 {
		close(g.reached)
	}
	return g.released
}
