package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "deerflow/internal/testkit"
)

// check compares what is there in the end with what has to be.
func (s *script) check() error {
	var list []Message
	err := s.call(func(api *API) error {
		state, err := api.State(s.ctx, s.id)
		if err != nil {
			return err
		}
		list, err = state.Values.Messages()
		return err
	})
	if err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	s.checkTranscript(list)
	s.checkScreen(list)
	s.checkEffects(list)
	var runs []Run
	err = s.call(func(api *API) (err error) {
		runs, err = api.Runs(s.ctx, s.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("list the runs: %w", err)
	}
	if len(runs) != s.sent {
		s.count(&s.twice, "%s: %d messages became %d runs", s.name, s.sent, len(runs))
	}
	for _, run := range runs {
		if !run.Finished() {
			s.count(&s.stuck, "%s: run %s is %s", s.name, run.RunID, run.Status)
		}
	}
	return nil
}

// checkTranscript checks each message, and that there are no others.
func (s *script) checkTranscript(list []Message) {
	want := expected(s.kind, s.name)
	ids := map[string]bool{}
	got := make([]string, len(list))
	for i, m := range list {
		if ids[m.ID] {
			s.count(&s.twice, "%s: message %s is there twice", s.name, m.ID)
		}
		ids[m.ID] = true
		got[i] = m.Type + ": " + m.Text()
	}
	if s.kind == "stop" && len(got) == len(want)-1 {
		want = append(want[:1:1], want[2:]...) // it was stopped before it said anything
	}
	switch {
	case len(got) < len(want):
		s.count(&s.lost, "%s: %d of %d messages: %q", s.name, len(got), len(want), got)
	case len(got) > len(want):
		s.count(&s.twice, "%s: %d messages, not %d: %q", s.name, len(got), len(want), got)
	default:
		for i := range want {
			if !agrees(got[i], want[i]) {
				s.count(&s.lost, "%s: message %d is %q, not %q", s.name, i, got[i], want[i])
			}
		}
	}
}

// agrees compares a message with what was expected of it.
func agrees(got, want string) bool {
	kind, text, _ := strings.Cut(want, ": ")
	switch kind {
	case "bash":
		return strings.HasPrefix(got, "tool: ") && (strings.Contains(got, "ran "+text) || strings.Contains(got, mayHaveRun))
	case "part":
		return strings.HasPrefix("ai: "+text, got)
	case "tool":
		return strings.HasPrefix(got, "tool: ")
	}
	return got == want
}

// checkScreen compares what readers have seen with what is there.
func (s *script) checkScreen(list []Message) {
	s.shown.mu.Lock()
	defer s.shown.mu.Unlock()
	there := map[string]bool{}
	for _, m := range list {
		there[m.ID] = true
		if m.Type == "human" {
			continue // the person's own words are not streamed to them
		}
		switch text, shown := s.shown.text[m.ID]; {
		case !shown:
			s.count(&s.lost, "%s: the readers have not seen message %s: %s %q", s.name, m.ID, m.Type, m.Text())
		case text != m.Text():
			s.count(&s.twice, "%s: the readers have seen %q for message %s, which is %q", s.name, text, m.ID, m.Text())
		}
	}
	for id, text := range s.shown.text {
		if !there[id] {
			s.count(&s.twice, "%s: the readers have seen message %s, which is not there: %q", s.name, id, text)
		}
	}
}

// checkEffects counts the lines that commands have left: one each, none for one
// that only may have run.
func (s *script) checkEffects(list []Message) {
	if s.kind != "tools" {
		return
	}
	path := filepath.Join(s.p.dataDir(), "users", "default", "threads", s.id, "user-data", "workspace", "effects.txt")
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil && !os.IsNotExist(err) {
		s.t.Errorf("%s: %v", s.name, err)
	}
	for _, n := range []int{1, 2, 4} {
		line := fmt.Sprintf("%s-%d", s.name, n)
		times := strings.Count("\n"+string(data), "\n"+line+"\n")
		ran := false
		for _, m := range list {
			ran = ran || m.Type == "tool" && strings.Contains(m.Text(), "ran "+line)
		}
		if times > 1 || ran && times == 0 {
			s.count(&s.unsafe, "%s: command %d left its line %d times, and said that it ran: %t", s.name, n, times, ran)
		}
	}
}
