package testkit

import (
	"strings"
	"sync"
)

// Matcher reports whether a script is for a request. It must be quick and must
// not change the request.
type Matcher func(*Request) bool

// LastUser matches requests whose last user message contains text.
func LastUser(text string) Matcher {
	return func(r *Request) bool { return strings.Contains(r.LastUser(), text) }
}

// AnyMessage matches requests that have text in some message, so that a marker
// in a thread's first question finds all requests of that thread.
func AnyMessage(text string) Matcher {
	return func(r *Request) bool {
		for _, m := range r.Messages {
			if strings.Contains(m.Text(), text) {
				return true
			}
		}
		return false
	}
}

// System matches requests whose system message contains text.
func System(text string) Matcher {
	return func(r *Request) bool { return strings.Contains(r.System(), text) }
}

// ForModel matches requests for the model of that name.
func ForModel(name string) Matcher {
	return func(r *Request) bool { return r.Model == name }
}

// HasTools matches requests that declare tools.
func HasTools() Matcher {
	return func(r *Request) bool { return len(r.Tools) > 0 }
}

// AllOf matches requests that every one of the matchers matches.
func AllOf(matchers ...Matcher) Matcher {
	return func(r *Request) bool {
		for _, match := range matchers {
			if !match(r) {
				return false
			}
		}
		return true
	}
}

// Not matches what the matcher does not.
func Not(match Matcher) Matcher {
	return func(r *Request) bool { return !match(r) }
}

// ByTurn answers the first model call of a run with the first reply, the call
// after its first tools with the second, and so on; the last reply serves all
// further calls. It looks at the request alone (see [Request.Turn]), so a
// request that is repeated after a crash gets the same answer again.
func ByTurn(replies ...Reply) func(*Request) Reply {
	return func(r *Request) Reply {
		return replies[min(r.Turn(), len(replies)-1)]
	}
}

// Script holds the answers for the requests that its matcher matches: a queue,
// and a function for when the queue is empty.
type Script struct {
	match Matcher

	mu      sync.Mutex
	queue   []Reply
	respond func(*Request) Reply
}

// Enqueue adds replies, each for one request.
func (s *Script) Enqueue(replies ...Reply) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
	return s
}

// Respond sets the function that answers when the queue is empty. It may be
// called for several requests at once.
func (s *Script) Respond(respond func(*Request) Reply) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.respond = respond
	return s
}

// Always answers every request that finds the queue empty with reply.
func (s *Script) Always(reply Reply) *Script {
	return s.Respond(func(*Request) Reply { return reply })
}

// Remaining returns how many queued replies have not been used.
func (s *Script) Remaining() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// take returns the answer to r, and whether the script has one.
func (s *Script) take(r *Request) (Reply, bool) {
	if !s.match(r) {
		return Reply{}, false
	}
	reply, respond := s.next()
	switch {
	case reply != nil:
		return *reply, true
	case respond != nil:
		return respond(r), true // outside the lock: it may wait for a gate
	default:
		return Reply{}, false
	}
}

func (s *Script) next() (*Reply, func(*Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, s.respond
	}
	reply := s.queue[0]
	s.queue = s.queue[1:]
	return &reply, nil
}
