package api

import (
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// failuresAllowed is how many wrong keys an address may send before it is
	// told to wait, and failureTime for how long (spec 1.1).
	failuresAllowed = 5
	failureTime     = 5 * time.Minute
	// failuresKnown is how many addresses are remembered at once.
	failuresKnown = 4096
)

// failures counts wrong keys by the address they came from.
type failures struct {
	now   func() time.Time
	mu    sync.Mutex
	known *lru.Cache[string, failed]
}

type failed struct {
	count int
	since time.Time
}

func newFailures(now func() time.Time) *failures {
	known, _ := lru.New[string, failed](failuresKnown) // fails for sizes below one only
	return &failures{now: now, known: known}
}

// add counts a failure and says how long its address has to wait now; 0 while it
// may go on.
func (f *failures) add(address string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, place := f.now(), neighbourhood(address)
	seen, _ := f.known.Get(place)
	if now.Sub(seen.since) >= failureTime {
		seen = failed{since: now}
	}
	if seen.count++; seen.count == failuresAllowed {
		seen.since = now // the wait begins with the last failure that was allowed
	}
	f.known.Add(place, seen)
	if seen.count <= failuresAllowed {
		return 0
	}
	return failureTime - now.Sub(seen.since)
}

// neighbourhood is the part of an address that one machine cannot change: all
// of an IPv4 address, the network of an IPv6 one.
func neighbourhood(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return ip.String()
	}
	return network.String()
}
