package pool

// Find leases the machine of a key if there is one; it makes none and waits for
// none.
func (p *Pool[T]) Find(key string) (*Lease[T], bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.places[key]
	if p.closed || s == nil || !s.there {
		return nil, false
	}
	s.users++
	return &Lease[T]{pool: p, place: s, number: s.made, Machine: s.machine}, true
}
