package model

import (
	"net/http"
	"strings"
	"sync"
)

// quirks is what a client has learned about its provider: optional fields that
// were refused, and one that was missed. The zero value goes by the
// configuration.
type quirks struct {
	noStreamOptions bool
	noParallel      bool
	noReasoning     bool
	wantsReasoning  bool // it always thinks, whatever is configured
	otherMaxTokens  bool // the limit goes by its other name
}

func (q quirks) streamOptions(f Flags) bool {
	return !q.noStreamOptions && (f.StreamOptions == nil || *f.StreamOptions)
}

func (q quirks) maxTokensField(f Flags) string {
	if (f.MaxTokensField == MaxCompletionTokens) != q.otherMaxTokens {
		return MaxCompletionTokens
	}
	return MaxTokens
}

// lessons keeps quirks for all calls of a client.
type lessons struct {
	mu sync.Mutex
	q  quirks
}

func (l *lessons) get() quirks {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.q
}

// learn reports whether a refusal names an optional field that the request, made
// under sent, need not have, or has to: then it is worth sending again (A08,
// A18). Each lesson is learned once, so this ends.
func (l *lessons) learn(err *Error, sent quirks) bool {
	if err.Status != http.StatusBadRequest && err.Status != http.StatusUnprocessableEntity {
		return false
	}
	next, changed := sent.after(strings.ToLower(err.Message + " " + err.Code))
	if !changed {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.q.noStreamOptions = l.q.noStreamOptions || next.noStreamOptions
	l.q.noParallel = l.q.noParallel || next.noParallel
	l.q.noReasoning = l.q.noReasoning || next.noReasoning
	l.q.wantsReasoning = l.q.wantsReasoning || next.wantsReasoning
	l.q.otherMaxTokens = l.q.otherMaxTokens || next.otherMaxTokens
	return true
}

// after draws the lesson from a refusal.
func (q quirks) after(text string) (quirks, bool) {
	before := q
	switch {
	case strings.Contains(text, "stream_options"), strings.Contains(text, "include_usage"):
		q.noStreamOptions = true
	case strings.Contains(text, "parallel_tool_calls"):
		q.noParallel = true
	case strings.Contains(text, MaxTokens) && strings.Contains(text, MaxCompletionTokens):
		q.otherMaxTokens = true
	case !containsAny(text, reasoningFields):
	case containsAny(text, missingFieldWords):
		q.wantsReasoning = true
	case containsAny(text, unknownFieldWords):
		q.noReasoning = true
	}
	return q, q != before
}

var (
	reasoningFields   = []string{"reasoning_content", "reasoning_details", "'reasoning'"}
	missingFieldWords = []string{"missing", "must be passed", "required"}
	unknownFieldWords = []string{
		"unsupported", "not supported", "unknown", "unrecognized", "unexpected", "not permitted", "not allowed", "extra", "additional propert",
	}
)
