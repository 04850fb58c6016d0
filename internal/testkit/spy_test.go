package testkit

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// spy is a testing.TB that keeps failures instead of failing the test.
type spy struct {
	testing.TB
	mu     sync.Mutex
	errors []string
}

func newSpy(t *testing.T) *spy {
	t.Helper()
	return &spy{TB: t}
}

func (s *spy) Errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, fmt.Sprintf(format, args...))
}

func (s *spy) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	runtime.Goexit()
}

func (s *spy) Failed() bool {
	return s.text() != ""
}

// text returns the failures so far.
func (s *spy) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.errors, "\n")
}

// do runs f, which may end by Fatalf, and returns the failures so far.
func (s *spy) do(f func()) string {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
	return s.text()
}
