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
// it when it does not listen. One layer counts equal messages within a window,
// the other counts calls of one tool. Defaults: warn at 3, stop at 5, of the
// last 20 messages; warn at 30, stop at 50 calls of a tool. The counters belong
// to a loop: a new question starts with a new chain, the answer to a question
// goes on with them.
type LoopDetection struct {
	Base
	settings agent.LoopSettings
	state    loopState
}

type loopState struct {
	Hashes  []string `json:"hashes,omitempty"` // of the last messages with calls
	Tools   []string `json:"tools,omitempty"`  // names of the last calls
	Warned  []string `json:"warned,omitempty"` // hashes and tools that were warned about
	Pending []string `json:"pending,omitempty"`
}

const mostPendingWarnings = 4

// NewLoopDetection makes the middleware; zero settings are the defaults.
func NewLoopDetection(_ workflow.Context, s agent.LoopSettings) *LoopDetection {
	return &LoopDetection{settings: s}
}

// Name is LoopDetection.
func (*LoopDetection) Name() string { return NameLoopDetection }

// EditRequest delivers the warnings behind all messages, so never between a
// call and its result (B03).
func (l *LoopDetection) EditRequest(_ workflow.Context, _ *Run, request *Request) error {
	if len(l.state.Pending) > 0 {
		request.Append("loop_warning", strings.Join(l.state.Pending, "\n\n"))
		l.state.Pending = nil
	}
	return nil
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
		if len(l.state.Pending) < mostPendingWarnings && !slices.Contains(l.state.Pending, w) {
			l.state.Pending = append(l.state.Pending, w)
		}
	}
	return Update{}, nil
}

// count takes a message into both windows. A stop wins over any warning of the
// same message (C04).
func (l *LoopDetection) count(calls []thread.CallDigest) (stop string, warnings []string) {
	hash := messageHash(calls)
	l.state.Hashes = last(append(l.state.Hashes, hash), l.settings.Window)
	l.forget("hash:"+hash, l.state.Hashes, l.settings.Warn)
	equal := count(l.state.Hashes, hash)
	switch {
	case equal >= l.settings.Hard:
		stop = fmt.Sprintf("the same tool calls came %d times", equal)
	case equal >= l.settings.Warn && l.warn("hash:"+hash):
		warnings = append(warnings, fmt.Sprintf("[LOOP DETECTED] You have made the same tool calls %d times. Use what you have, or try something else; repeated once more, the run is stopped.", equal))
	}
	for _, call := range calls {
		l.state.Tools = last(append(l.state.Tools, call.Name), l.toolWindow())
		used, limit := count(l.state.Tools, call.Name), l.limit(call.Name)
		switch {
		case used >= limit.Hard:
			stop = fmt.Sprintf("tool %s was called %d times", call.Name, used)
		case used < limit.Warn:
			l.unwarn("tool:" + call.Name)
		case l.warn("tool:" + call.Name):
			warnings = append(warnings, fmt.Sprintf("[LOOP DETECTED] You have called %s %d times. Come to a conclusion from what you have; at %d calls the run is stopped.", call.Name, used, limit.Hard))
		}
	}
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
	if len(l.state.Hashes) == 0 && len(l.state.Pending) == 0 {
		return nil, nil
	}
	return json.Marshal(l.state)
}

// Restore takes the windows back.
func (l *LoopDetection) Restore(_ workflow.Context, saved json.RawMessage) error {
	return json.Unmarshal(saved, &l.state)
}

func (l *LoopDetection) limit(tool string) agent.FreqLimit {
	if o, ok := l.settings.FreqOverrides[tool]; ok {
		return o
	}
	return agent.FreqLimit{Warn: l.settings.FreqWarn, Hard: l.settings.FreqHard}
}

// toolWindow is at least the largest hard limit: a smaller one would make that
// limit dead.
func (l *LoopDetection) toolWindow() int {
	window := max(l.settings.Window, l.settings.FreqHard)
	for _, name := range workflow.DeterministicKeys(l.settings.FreqOverrides) {
		window = max(window, l.settings.FreqOverrides[name].Hard)
	}
	return window
}

// warn reports whether a warning is due, and notes that it was given.
func (l *LoopDetection) warn(key string) bool {
	if slices.Contains(l.state.Warned, key) {
		return false
	}
	l.state.Warned = append(l.state.Warned, key)
	return true
}

func (l *LoopDetection) unwarn(key string) {
	l.state.Warned = slices.DeleteFunc(l.state.Warned, func(k string) bool { return k == key })
}

// forget drops warnings about hashes that have left the window: they may warn
// again.
func (l *LoopDetection) forget(current string, window []string, warnAt int) {
	l.state.Warned = slices.DeleteFunc(l.state.Warned, func(key string) bool {
		hash, isHash := strings.CutPrefix(key, "hash:")
		return isHash && key != current && !slices.Contains(window, hash)
	})
	if count(window, strings.TrimPrefix(current, "hash:")) < warnAt {
		l.unwarn(current)
	}
}

// messageHash does not depend on the order of calls.
func messageHash(calls []thread.CallDigest) string {
	keys := make([]string, 0, len(calls))
	for _, c := range calls {
		keys = append(keys, c.Key)
	}
	slices.Sort(keys)
	if len(keys) == 1 {
		return keys[0]
	}
	return agent.HashKeys(keys)
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

func last(list []string, n int) []string {
	if len(list) > n {
		return slices.Clone(list[len(list)-n:])
	}
	return list
}
