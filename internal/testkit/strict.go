package testkit

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// strict is the strict mode of a model server.
type strict struct {
	off   bool
	rules Rules

	mu        sync.Mutex
	expectAll bool
	expected  []Rule
	reasoning map[string][]string // tool call id → the reasoning texts sent with it
	found     []Violation
}

func newStrict() *strict {
	s := &strict{reasoning: map[string][]string{}}
	s.rules.Reasoning = s.given
	return s
}

// ExpectViolations tells the server that the test wants requests to break
// these rules, or any rule when none is named: they are still refused with
// 400, but do not fail the test.
func (m *Model) ExpectViolations(rules ...Rule) {
	m.strict.mu.Lock()
	defer m.strict.mu.Unlock()
	m.strict.expectAll = m.strict.expectAll || len(rules) == 0
	m.strict.expected = append(m.strict.expected, rules...)
}

// Violations returns every rule that was broken so far, expected or not.
func (m *Model) Violations() []Violation {
	m.strict.mu.Lock()
	defer m.strict.mu.Unlock()
	return slices.Clone(m.strict.found)
}

// Gave tells rule V9 which reasoning was sent with a tool call, for replies
// made of raw bytes.
func (m *Model) Gave(toolCallID, reasoning string) {
	m.strict.note(toolCallID, reasoning)
}

// refuse is the answer to a request that breaks a rule.
func (m *Model) refuse(req *Request) Reply {
	lines := make([]string, 0, len(req.Violations))
	for _, v := range req.Violations {
		lines = append(lines, v.String())
	}
	if !m.strict.expect(req.Violations) {
		m.t.Errorf("model: request %d breaks what real providers enforce:\n  %s\nbody: %.4000s",
			req.N, strings.Join(lines, "\n  "), req.Body)
	}
	first, code := req.Violations[0], "invalid_value"
	if first.Rule == V10 {
		code = "context_length_exceeded"
	}
	return Error(http.StatusBadRequest, errorBody(first.Path, code, strings.Join(lines, "; ")))
}

// check validates a body, unless the strict mode is off.
func (s *strict) check(body []byte) []Violation {
	if s.off {
		return nil
	}
	return Validate(body, s.rules)
}

// expect records violations and reports whether the test expects all of them.
func (s *strict) expect(found []Violation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, found...)
	if s.expectAll {
		return true
	}
	return !slices.ContainsFunc(found, func(v Violation) bool {
		return !slices.Contains(s.expected, v.Rule)
	})
}

// gave remembers the reasoning that a reply sends with its tool calls.
func (s *strict) gave(req *Request, reply Reply) {
	if reply.completion == nil {
		return
	}
	for i, call := range reply.completion.calls {
		if id, ok := call.wireID(req, i).(string); ok {
			s.note(id, reply.completion.reasoning)
		}
	}
}

func (s *strict) note(id, reasoning string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.reasoning[id], reasoning) {
		s.reasoning[id] = append(s.reasoning[id], reasoning)
	}
}

func (s *strict) given(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reasoning[id])
}
