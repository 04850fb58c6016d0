package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"deerflow/internal/thread"
)

// errDone is returned by assembly.handle at the provider's own end mark.
var errDone = errors.New("end of the stream")

// assembly puts an answer together from events and hands on what is new.
type assembly struct {
	emit func(Delta) error

	text, reasoning, refusal  strings.Builder
	textJoin, reasonJoin, rej joiner
	think                     thinkSplitter
	calls                     callList
	details                   []any
	usage                     thread.Usage
	model                     string
	rewritten                 bool

	finish      string // the provider's reason, lower case
	finishField string // where it stood
	saw         bool   // any choice at all
	streamed    bool   // deltas came
	whole       bool   // a complete message came
	done        bool   // the end mark came
	ended       bool   // nothing came after the reason
	late        bool   // something came after a reason: reasons say little here
}

// complete reports whether the provider ended its answer itself (A01). Of one
// that writes a reason into every chunk, a reason is believed only when the
// body ends in good order.
func (a *assembly) complete(inOrder bool) bool {
	return a.done || a.whole || a.ended && (inOrder || !a.late)
}

// handle takes one event in. It returns errDone at the end mark and an *Error
// for an error inside the stream (A02).
func (a *assembly) handle(ev event) error {
	data := bytes.TrimSpace(ev.data)
	if bytes.Equal(data, []byte("[DONE]")) {
		a.done = true
		return errDone
	}
	if ev.name == "error" {
		return streamError(data)
	}
	if len(data) > 0 && data[0] == '[' {
		return a.handleList(data)
	}
	c, ok := object[chunk](data)
	if !ok {
		return unreadableEvent(data)
	}
	if err := chunkError(data, isNull(c.Choices)); err != nil {
		return err
	}
	if c.Model != "" {
		a.model = string(c.Model)
	}
	a.takeUsage(c.Usage)
	if groq, ok := object[chunk](c.XGroq); ok {
		a.takeUsage(groq.Usage)
	}
	for _, ch := range objects[choice](c.Choices) {
		if ch.Index.n != 0 {
			continue // one answer was asked for
		}
		if err := a.handleChoice(ch); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembly) handleList(data []byte) error {
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		return unreadableEvent(data)
	}
	for _, item := range items {
		if trimmed := bytes.TrimSpace(item); len(trimmed) > 0 && trimmed[0] == '[' {
			return unreadableEvent(data)
		}
		if err := a.handle(event{data: item}); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembly) takeUsage(raw json.RawMessage) {
	if u, ok := parseUsage(raw); ok {
		a.usage = u
	}
}

func (a *assembly) handleChoice(ch choice) error {
	a.saw = true
	if hasError(ch.Error) {
		return streamError(ch.Error)
	}
	a.takeUsage(ch.Usage)
	if err := a.handleDelta(a.deltaOf(&ch)); err != nil {
		return err
	}
	a.takeFinish("finish_reason", string(ch.FinishReason))
	if a.finish == "" || isSafety(string(ch.StopReason)) {
		a.takeFinish("stop_reason", string(ch.StopReason))
	}
	return nil
}

// deltaOf is what a choice adds. A whole message after deltas repeats them.
func (a *assembly) deltaOf(ch *choice) *delta {
	if d, ok := object[delta](ch.Delta); ok {
		a.streamed = true
		return &d
	}
	if d, ok := object[delta](ch.Message); ok {
		a.whole = true
		if !a.streamed {
			return &d
		}
	}
	return &delta{Content: ch.Text}
}

func (a *assembly) takeFinish(field, reason string) {
	reason = strings.ToLower(strings.TrimSpace(reason))
	switch reason {
	case "", "null", "none":
		return
	case "function_call":
		reason = finishToolCalls
	}
	a.finish, a.finishField, a.ended = reason, field, true
}

func (a *assembly) handleDelta(d *delta) error {
	content, thought := contentText(d.Content)
	out := Delta{Reasoning: a.reasonJoin.push(append(d.reasoningText(), thought...))}
	a.reasoning.WriteString(out.Reasoning)
	a.details = mergeDetails(a.details, d.ReasoningDetails)

	refusal, _ := contentText(d.Refusal)
	if text := a.rej.push(refusal); text != "" {
		a.refusal.WriteString(text)
		a.text.WriteString(text)
		out.Text += text
	}
	a.split(&out, a.think.push(a.textJoin.push(content)))
	for _, p := range d.pieces() {
		out.ToolCalls = append(out.ToolCalls, a.calls.add(p))
	}
	return a.hand(out)
}

// split files segments under text or reasoning and adds them to out.
func (a *assembly) split(out *Delta, segments []segment) {
	for _, s := range segments {
		switch {
		case s.recast:
			a.reasoning.WriteString(a.text.String())
			a.text.Reset()
			a.rewritten = true
		case s.reasoning:
			a.reasoning.WriteString(s.text)
			out.Reasoning += s.text
		default:
			a.text.WriteString(s.text)
			out.Text += s.text
		}
	}
}

// closeText settles what was held back and returns it.
func (a *assembly) closeText() error {
	var out Delta
	a.split(&out, a.think.finish())
	return a.hand(out)
}

// hand gives a piece to the caller.
func (a *assembly) hand(d Delta) error {
	if d.Text == "" && d.Reasoning == "" && len(d.ToolCalls) == 0 {
		return nil
	}
	if d.Text != "" || d.Reasoning != "" || slices.ContainsFunc(d.ToolCalls, ToolCallDelta.news) {
		a.late, a.ended = a.late || a.ended, false
	}
	if a.emit == nil {
		return nil
	}
	if err := a.emit(d); err != nil {
		return &emitError{err}
	}
	return nil
}

// emitError is a failure of the caller, not of the provider.
type emitError struct{ err error }

func (e *emitError) Error() string { return "hand on a piece of the answer: " + e.err.Error() }

func (e *emitError) Unwrap() error { return e.err }
