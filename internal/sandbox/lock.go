package sandbox

import (
	"context"
	"fmt"
	"sync"
)

// pathLocks has a lock for every file that is being written. It spans one
// process; two hosts never write one thread at once, since its steps go to the
// host that has its sandbox.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]*pathLock
}

type pathLock struct {
	turn  chan struct{} // holds one token while free
	users int           // who holds the lock or waits for it
}

func newPathLocks() *pathLocks { return &pathLocks{held: map[string]*pathLock{}} }

// lock waits for a key and gives the function that frees it.
func (l *pathLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	l.mu.Lock()
	e := l.held[key]
	if e == nil {
		e = &pathLock{turn: make(chan struct{}, 1)}
		e.turn <- struct{}{}
		l.held[key] = e
	}
	e.users++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.users--; e.users == 0 {
			delete(l.held, key)
		}
	}
	select {
	case <-e.turn:
		return func() {
			e.turn <- struct{}{}
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("wait for a file that another call is writing: %w", ctx.Err())
	}
}
