package middleware

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// LoopDetection warns a model that asks for the same again and again, and stops
// it when it does not listen (spec 4.28). One layer counts equal messages within
// a window, and rounds of two or three messages beyond it; the other counts calls
// of one tool. Defaults: warn at 3, stop at 5, of the
// last 20 messages; warn at 30, stop at 50 calls of a tool. The counters belong
// to a loop: a new question starts with a new chain, the answer to a question
// goes on with them.
type LoopDetection struct {
	Base
	settings  agent.LoopSettings
	kept      int                        // messages that are remembered, at least the window
	overrides map[string]agent.FreqLimit // by tool key
	state     loopState
}

const mostPendingWarnings = 4

// NewLoopDetection makes the middleware; settings that are zero are the
// defaults.
func NewLoopDetection(_ workflow.Context, s agent.LoopSettings) *LoopDetection {
	s.Warn, s.Hard = orDefault(s.Warn, 3), orDefault(s.Hard, 5)
	s.FreqWarn, s.FreqHard = orDefault(s.FreqWarn, 30), orDefault(s.FreqHard, 50)
	// A window below a hard limit would make that limit dead.
	s.Window = max(orDefault(s.Window, 20), s.Hard)
	l := &LoopDetection{settings: s, kept: s.Window, overrides: map[string]agent.FreqLimit{}}
	for _, name := range workflow.DeterministicKeys(s.FreqOverrides) {
		o := s.FreqOverrides[name]
		l.overrides[toolKey(name)] = agent.FreqLimit{Warn: orDefault(o.Warn, s.FreqWarn), Hard: orDefault(o.Hard, s.FreqHard)}
	}
	return l
}

// NewCyclicLoopDetection makes the middleware with the check for rounds: of A, B,
// A, B, ... and A, B, C, A, ... as many as a limit allows are seen whatever the
// window is (C02). Loops of version 1 began without it.
func NewCyclicLoopDetection(ctx workflow.Context, s agent.LoopSettings) *LoopDetection {
	l := NewLoopDetection(ctx, s)
	l.kept = max(l.settings.Window, longestRound*l.settings.Hard)
	return l
}

// longestRound is how many messages a round may have.
const longestRound = 3

func orDefault(n, fallback int) int {
	if n <= 0 {
		return fallback
	}
	return n
}

// Name is LoopDetection.
func (*LoopDetection) Name() string { return NameLoopDetection }

// EditRequest delivers the warnings behind all messages, so never between a
// call and its result (B03).
func (l *LoopDetection) EditRequest(_ workflow.Context, _ *Run, request *Request) error {
	if len(l.state.pending) == 0 {
		return nil
	}
	texts := make([]string, 0, len(l.state.pending))
	for _, w := range l.state.pending {
		texts = append(texts, l.text(w))
	}
	request.Append("loop_warning", strings.Join(texts, "\n\n"))
	l.state.pending = nil
	return nil
}

func (l *LoopDetection) text(w loopWarning) string {
	if w.tool == "" {
		return fmt.Sprintf("[LOOP DETECTED] You have made the same tool calls %d times. Use what you have, or try something else; at %d times the run is stopped.", w.count, l.settings.Hard)
	}
	return fmt.Sprintf("[LOOP DETECTED] You have called %s %d times. Come to a conclusion from what you have; at %d calls the run is stopped.", w.tool, w.count, l.limit(toolKey(w.tool)).Hard)
}

// AfterModel counts the message's calls, and stops the run at a hard limit.
func (l *LoopDetection) AfterModel(_ workflow.Context, _ *Run, reply *ModelReply) (Update, error) {
	if !l.settings.Enabled || len(reply.Message.Calls) == 0 {
		return Update{}, nil
	}
	stop, warnings := l.count(reply.Message.Calls)
	if stop != "" {
		return l.stop(reply.Message, stop), nil
	}
	for _, w := range warnings {
		if len(l.state.pending) < mostPendingWarnings && !slices.Contains(l.state.pending, w) {
			l.state.pending = append(l.state.pending, w)
		}
	}
	return Update{}, nil
}

// count takes a message into both windows. A stop wins over any warning of the
// same message (C04).
func (l *LoopDetection) count(calls []thread.CallDigest) (stop string, warnings []loopWarning) {
	s := &l.state
	key := messageKey(calls)
	s.messages = newest(append(s.messages, key), l.kept)
	equal := count(newest(s.messages, l.settings.Window), key)
	if l.kept > l.settings.Window {
		equal = max(equal, rounds(s.messages))
	}
	if equal >= l.settings.Hard {
		stop = fmt.Sprintf("the same tool calls came %d times", equal)
	}
	if due(&s.warnedMessages, key, equal >= l.settings.Warn) {
		warnings = append(warnings, loopWarning{count: equal})
	}
	for _, call := range calls {
		key := toolKey(call.Name)
		s.tools = newest(append(s.tools, key), l.toolWindow())
		used, limit := count(s.tools, key), l.limit(key)
		if used >= limit.Hard {
			stop = fmt.Sprintf("tool %s was called %d times", call.Name, used)
		}
		if due(&s.warnedTools, key, used >= limit.Warn) {
			warnings = append(warnings, loopWarning{count: used, tool: wireName(call.Name)})
		}
	}
	s.warnedMessages = forget(s.warnedMessages, s.messages, func(string) int { return l.settings.Warn })
	s.warnedTools = forget(s.warnedTools, s.tools, func(key string) int { return l.limit(key).Warn })
	return stop, warnings
}

func (l *LoopDetection) stop(m thread.Digest, why string) Update {
	return Update{
		Revisions: []thread.Revision{{
			MessageID:  m.ID,
			StripCalls: true,
			AppendText: "[FORCED STOP] I stopped here, because " + why + " without getting further. What stands above is what I know so far; tell me how to go on.",
		}},
		Goto:       step.GotoEnd,
		StopReason: thread.StopLoopCapped,
	}
}

// Save keeps the windows.
func (l *LoopDetection) Save(workflow.Context) (json.RawMessage, error) {
	if len(l.state.messages) == 0 {
		return nil, nil
	}
	return json.Marshal(l.state)
}

// Restore takes the windows back.
func (l *LoopDetection) Restore(_ workflow.Context, saved json.RawMessage) error {
	return json.Unmarshal(saved, &l.state)
}

func (l *LoopDetection) limit(tool string) agent.FreqLimit {
	if o, ok := l.overrides[tool]; ok {
		return o
	}
	return agent.FreqLimit{Warn: l.settings.FreqWarn, Hard: l.settings.FreqHard}
}

// toolWindow is at least the largest hard limit, for the same reason as the
// window of messages.
func (l *LoopDetection) toolWindow() int {
	window := max(l.settings.Window, l.settings.FreqHard)
	for _, key := range workflow.DeterministicKeys(l.overrides) {
		window = max(window, l.overrides[key].Hard)
	}
	return window
}

// due notes that a key is at its warning limit, or below it, and reports
// whether a warning has to be given now: once, until it was below again.
func due(warned *[]string, key string, reached bool) bool {
	at := slices.Index(*warned, key)
	switch {
	case reached && at < 0:
		*warned = append(*warned, key)
		return true
	case !reached && at >= 0:
		*warned = slices.Delete(*warned, at, at+1)
	}
	return false
}

// forget drops the notes that do not matter any more: the key has left the
// window, or is so rare in it that its next occurrence would be below the limit.
func forget(warned, window []string, limit func(key string) int) []string {
	return slices.DeleteFunc(warned, func(key string) bool {
		n := count(window, key)
		return n == 0 || n+1 < limit(key)
	})
}

// rounds is how often the last two or three keys have come one after the other,
// in the same order, up to the end.
func rounds(keys []string) int {
	most := 0
	for period := 2; period <= longestRound; period++ {
		same := 0
		for i := len(keys) - 1; i >= period && keys[i] == keys[i-period]; i-- {
			same++
		}
		most = max(most, (same+period)/period)
	}
	return most
}

func count(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func newest(list []string, n int) []string {
	if len(list) > n {
		return slices.Clone(list[len(list)-n:])
	}
	return list
}
