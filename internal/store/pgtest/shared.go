package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is a server for all tests of a process; the first that asks starts it.
// The zero value is ready; call Stop after the last test.
type Shared struct {
	mu     sync.Mutex
	server *Server
	err    error
	names  []string
}

// Database gives the test an empty database of its own, or skips it, with the
// reason, where there is no Postgres.
func (s *Shared) Database(t testing.TB) (url string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx := context.Background()
	if s.server == nil && s.err == nil {
		s.server, s.err = Start(ctx)
	}
	if errors.Is(s.err, ErrNone) {
		t.Skip(s.err)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	name := fmt.Sprintf("deerflow_shared_%d_%d", os.Getpid(), len(s.names))
	url, err := s.server.Database(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	s.names = append(s.names, name)
	return url
}

// Stop drops the databases and ends a server that is ours.
func (s *Shared) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return nil
	}
	var errs []error
	for _, name := range s.names {
		errs = append(errs, s.server.Drop(context.Background(), name))
	}
	return errors.Join(append(errs, s.server.Stop())...)
}
