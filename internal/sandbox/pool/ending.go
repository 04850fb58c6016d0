package pool

import "context"

// makeRoom ends those that were not used for the longest time, until one more
// fits in. Machines in use stay, so there may be more than wanted.
func (p *Pool[T]) makeRoom(ctx context.Context) {
	if p.o.Max <= 0 {
		return
	}
	refused := map[string]bool{}
	for {
		s := p.pick(func(there int, s, best *place[T]) bool {
			return there >= p.o.Max && !refused[s.key] && (best == nil || s.used.Before(best.used))
		})
		if s == nil {
			break
		}
		refused[s.key] = !p.end(context.WithoutCancel(ctx), s, Crowd)
	}
	p.mu.Lock()
	there := p.count()
	p.mu.Unlock()
	if there >= p.o.Max {
		p.o.Logger.Warn("More sandboxes than wanted: all of them are in use", "wanted", p.o.Max, "there", there+1)
	}
}

// reap ends those that nobody has used for long enough.
func (p *Pool[T]) reap() {
	refused := map[string]bool{}
	for {
		now := p.o.Now()
		s := p.pick(func(_ int, s, _ *place[T]) bool {
			return !refused[s.key] && now.Sub(s.used) >= p.o.Idle
		})
		if s == nil {
			return
		}
		refused[s.key] = !p.end(context.Background(), s, Idle)
	}
}

// pick takes the turn of the best machine that nobody uses, and hides it: nobody
// gets a machine that is being ended.
func (p *Pool[T]) pick(better func(there int, s, best *place[T]) bool) *place[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	there := p.count()
	var best *place[T]
	for _, s := range p.places {
		if s.there && s.users == 0 && len(s.turn) == 1 && better(there, s, best) {
			best = s
		}
	}
	if best != nil {
		<-best.turn // under the lock nobody else takes it: those who would are users
		best.there = false
	}
	return best
}

// count is called with the lock.
func (p *Pool[T]) count() int {
	n := 0
	for _, s := range p.places {
		if s.there {
			n++
		}
	}
	return n
}

// end ends the hidden machine of a place whose turn the caller has, and gives the
// turn back. Who asks for the key meanwhile waits.
func (p *Pool[T]) end(ctx context.Context, s *place[T], why Reason) bool {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	ended, err := p.o.End(ctx, s.key, s.machine, why)
	if err != nil {
		p.o.Logger.Warn("A sandbox could not be ended", "sandbox", s.key, "error", err)
		ended = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended {
		var none T
		s.machine = none
	} else {
		s.there, s.used = true, p.o.Now()
	}
	s.turn <- struct{}{}
	p.forgetEmpty(s)
	return ended
}

// Remove ends the machine of a key for good. Who still uses it finds it lost.
func (p *Pool[T]) Remove(ctx context.Context, key string) error {
	s, err := p.enter(key)
	if err != nil {
		return err
	}
	defer p.leave(s)
	select {
	case <-s.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.hide(s) {
		p.end(ctx, s, Removed)
	}
	return nil
}

// hide takes away the machine of a place whose turn the caller has; without one the
// turn is given back.
func (p *Pool[T]) hide(s *place[T]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.there {
		s.turn <- struct{}{}
		return false
	}
	s.there = false
	return true
}

// Close ends all machines and waits for it until the context ends.
func (p *Pool[T]) Close(ctx context.Context) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	all := make([]*place[T], 0, len(p.places))
	for _, s := range p.places {
		all = append(all, s)
	}
	p.mu.Unlock()
	close(p.stop)
	<-p.done
	ended := make(chan struct{}, len(all))
	for _, s := range all {
		go func() {
			defer func() { ended <- struct{}{} }()
			select {
			case <-s.turn:
			case <-ctx.Done():
				return
			}
			if p.hide(s) {
				p.end(ctx, s, Closing)
			}
		}()
	}
	for range all {
		<-ended
	}
}
