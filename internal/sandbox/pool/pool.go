package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ErrClosed is what a closed pool answers.
var ErrClosed = errors.New("the pool of sandboxes is closed")

// endTimeout bounds the ending of one machine.
const endTimeout = 30 * time.Second

// Options configure [New].
type Options[T any] struct {
	// Max is how many machines there should be; 0 means any number. When all of
	// them are in use one more is made all the same.
	Max int
	// Idle is how long a machine is kept that nobody uses; 0 means for ever.
	Idle time.Duration
	// End ends a machine. It may refuse, as for one that another process uses:
	// false leaves the machine where it is. The pool forgets it after an error too.
	End func(ctx context.Context, key string, machine T, why Reason) (bool, error)
	// Logger gets the failures of End; nil means slog.Default().
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Reason is why a machine is ended.
type Reason int

// Reasons to end a machine.
const (
	Idle    Reason = iota // nobody used it
	Crowd                 // room was needed for another one
	Closing               // the pool is closed
	Removed               // asked for
)

// Pool keeps machines by key.
type Pool[T any] struct {
	o    Options[T]
	stop chan struct{}
	done chan struct{}

	mu     sync.Mutex
	closed bool
	places map[string]*place[T]
}

// place is where the machine of one key stands. Whoever holds the token of turn
// may make or end it; all fields are written under the pool's lock.
type place[T any] struct {
	key     string
	turn    chan struct{}
	machine T
	made    int // how many were made here; the number of the machine
	there   bool
	users   int // leases, and those who wait for one
	used    time.Time
}

// New makes a pool; Close ends it.
func New[T any](o Options[T]) *Pool[T] {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Pool[T]{o: o, stop: make(chan struct{}), done: make(chan struct{}), places: map[string]*place[T]{}}
	go p.watch()
	return p
}

// watch ends idle machines from time to time.
func (p *Pool[T]) watch() {
	defer close(p.done)
	if p.o.Idle <= 0 {
		return
	}
	ticker := time.NewTicker(min(time.Minute, max(p.o.Idle/4, time.Second)))
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			p.reap()
		}
	}
}

// Lease is the use of a machine; it is not ended before Done.
type Lease[T any] struct {
	pool   *Pool[T]
	place  *place[T]
	number int
	once   sync.Once

	// Machine is what was asked for.
	Machine T
	// Made: it was made for this lease.
	Made bool
}

// Use gives the machine of a key, made when there is none. The caller ends the
// lease with Done.
func (p *Pool[T]) Use(ctx context.Context, key string, create func(context.Context) (T, error)) (*Lease[T], error) {
	s, err := p.enter(key)
	if err != nil {
		return nil, err
	}
	l := &Lease[T]{pool: p, place: s}
	if err := l.take(ctx, -1, create); err != nil {
		p.leave(s)
		return nil, err
	}
	return l, nil
}

// Replace gives the lease another machine, because its own is lost. Of several
// leases of one machine the first makes the new one, the others get the same.
func (l *Lease[T]) Replace(ctx context.Context, create func(context.Context) (T, error)) error {
	return l.take(ctx, l.number, create)
}

// Done ends the use.
func (l *Lease[T]) Done() { l.once.Do(func() { l.pool.leave(l.place) }) }

// take puts the machine of the place into the lease; the one with the number lost
// does not count.
func (l *Lease[T]) take(ctx context.Context, lost int, create func(context.Context) (T, error)) error {
	p, s := l.pool, l.place
	if l.current(lost) {
		return nil
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return fmt.Errorf("wait for the sandbox %s: %w", s.key, ctx.Err())
	}
	defer func() { s.turn <- struct{}{} }()
	if l.current(lost) {
		return nil
	}
	p.mu.Lock()
	s.there = false
	p.mu.Unlock()
	p.makeRoom(ctx)
	machine, err := create(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	s.machine, s.there = machine, true
	s.made++
	p.mu.Unlock()
	l.Machine, l.number, l.Made = machine, s.made, true
	return nil
}

// current takes the machine that is there, unless it is the lost one.
func (l *Lease[T]) current(lost int) bool {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if !l.place.there || l.place.made == lost {
		return false
	}
	l.Machine, l.number, l.Made = l.place.machine, l.place.made, false
	return true
}

// Adopt puts in a machine that is there already, unused from now on. It does
// nothing for a key that has one.
func (p *Pool[T]) Adopt(key string, machine T) {
	s, err := p.enter(key)
	if err != nil {
		return
	}
	defer p.leave(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.there {
		s.machine, s.there = machine, true
		s.made++
	}
}

func (p *Pool[T]) enter(key string) (*place[T], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	s := p.places[key]
	if s == nil {
		s = &place[T]{key: key, turn: make(chan struct{}, 1)}
		s.turn <- struct{}{}
		p.places[key] = s
	}
	s.users++
	return s, nil
}

func (p *Pool[T]) leave(s *place[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.users--
	s.used = p.o.Now()
	p.forgetEmpty(s)
}

// forgetEmpty is called with the lock.
func (p *Pool[T]) forgetEmpty(s *place[T]) {
	if s.users == 0 && !s.there && len(s.turn) == 1 {
		delete(p.places, s.key)
	}
}
