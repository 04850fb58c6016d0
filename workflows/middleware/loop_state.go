package middleware

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"deerflow/internal/thread"
)

// loopState is what LoopDetection counts by: keys of messages and of tools, all
// of one length, oldest first. Every warned key is in its window.
type loopState struct {
	messages       []string // of the last messages with calls
	tools          []string // of the last calls
	warnedMessages []string
	warnedTools    []string
	pending        []loopWarning
}

// loopWarning is a warning that waits for the next model call. Without a tool it
// is about equal messages.
type loopWarning struct {
	count int
	tool  string
}

// Lengths of the keys, in characters of base64: 48 and 24 bits.
const (
	messageKeyLen = 8
	toolKeyLen    = 4
)

// messageKey is the same for the same calls in any order.
func messageKey(calls []thread.CallDigest) string {
	keys := make([]string, 0, len(calls))
	for _, c := range calls {
		keys = append(keys, c.Key)
	}
	slices.Sort(keys)
	return shortKey(strings.Join(keys, "|"), messageKeyLen)
}

func toolKey(name string) string { return shortKey(name, toolKeyLen) }

func shortKey(text string, length int) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:length]
}

// longestName is how long a tool's name may be.
const longestName = 64

// wireName is a name as the model reads it in its own history, whatever it made
// up: short, and with no character that has to be escaped.
func wireName(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune(indices, r) {
			return r
		}
		return '_'
	}, name)
	return safe[:min(len(safe), longestName)]
}

// savedLoop is the JSON of a [loopState]. It rides in every commit of a run, so
// it is small: by default at most 700 bytes, whatever was called.
type savedLoop struct {
	Messages string `json:"m,omitempty"`
	// Tools are keys; with Names they are one character each, an index into
	// those.
	Tools string `json:"t,omitempty"`
	Names string `json:"n,omitempty"`
	// Warned keys as positions in the windows.
	WarnedMessages []int         `json:"wm,omitempty"`
	WarnedTools    []int         `json:"wt,omitempty"`
	Pending        []loopWarning `json:"p,omitempty"`
}

// indices are the characters of base64; each stands for a number below 64.
const indices = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// MarshalJSON writes the state in its small form.
func (s loopState) MarshalJSON() ([]byte, error) {
	names, tools := packTools(s.tools)
	return json.Marshal(savedLoop{
		Messages: strings.Join(s.messages, ""), Tools: tools, Names: names,
		WarnedMessages: positions(s.warnedMessages, s.messages),
		WarnedTools:    positions(s.warnedTools, s.tools),
		Pending:        s.pending,
	})
}

// UnmarshalJSON replaces the state by what MarshalJSON wrote.
func (s *loopState) UnmarshalJSON(data []byte) error {
	var saved savedLoop
	if err := json.Unmarshal(data, &saved); err != nil {
		return err
	}
	var err error
	next := loopState{pending: saved.Pending}
	if next.messages, err = chunks(saved.Messages, messageKeyLen); err != nil {
		return fmt.Errorf("read the keys of messages: %w", err)
	}
	if next.tools, err = unpackTools(saved.Names, saved.Tools); err != nil {
		return fmt.Errorf("read the keys of tools: %w", err)
	}
	if next.warnedMessages, err = at(saved.WarnedMessages, next.messages); err != nil {
		return fmt.Errorf("read the warned messages: %w", err)
	}
	if next.warnedTools, err = at(saved.WarnedTools, next.tools); err != nil {
		return fmt.Errorf("read the warned tools: %w", err)
	}
	*s = next
	return nil
}

// packTools writes keys as a list of different ones and one character each, or,
// where that is no shorter, as they are.
func packTools(tools []string) (names, packed string) {
	var known []string
	for _, key := range tools {
		if !slices.Contains(known, key) {
			known = append(known, key)
		}
	}
	if len(known) > len(indices) || len(known)*toolKeyLen+len(tools) >= len(tools)*toolKeyLen {
		return "", strings.Join(tools, "")
	}
	var b strings.Builder
	for _, key := range tools {
		b.WriteByte(indices[slices.Index(known, key)])
	}
	return strings.Join(known, ""), b.String()
}

func unpackTools(names, packed string) ([]string, error) {
	if names == "" {
		return chunks(packed, toolKeyLen)
	}
	known, err := chunks(names, toolKeyLen)
	if err != nil {
		return nil, err
	}
	var tools []string
	for _, r := range packed {
		i := strings.IndexRune(indices, r)
		if i < 0 || i >= len(known) {
			return nil, fmt.Errorf("%q stands for none of %d tools", r, len(known))
		}
		tools = append(tools, known[i])
	}
	return tools, nil
}

func chunks(text string, size int) ([]string, error) {
	if len(text)%size != 0 {
		return nil, fmt.Errorf("%d characters are no keys of %d", len(text), size)
	}
	var out []string
	for ; text != ""; text = text[size:] {
		out = append(out, text[:size])
	}
	return out, nil
}

// positions gives where keys stand in a window.
func positions(keys, window []string) []int {
	var out []int
	for _, key := range keys {
		if i := slices.Index(window, key); i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

func at(positions []int, window []string) ([]string, error) {
	var out []string
	for _, i := range positions {
		if i < 0 || i >= len(window) {
			return nil, fmt.Errorf("position %d is not among %d", i, len(window))
		}
		out = append(out, window[i])
	}
	return out, nil
}

// MarshalText writes the count, and the tool where there is one.
func (w loopWarning) MarshalText() ([]byte, error) {
	return []byte(strings.TrimSpace(strconv.Itoa(w.count) + " " + w.tool)), nil
}

// UnmarshalText reads what MarshalText wrote.
func (w *loopWarning) UnmarshalText(text []byte) error {
	count, tool, _ := strings.Cut(string(text), " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		return fmt.Errorf("read a warning: %w", err)
	}
	*w = loopWarning{count: n, tool: tool}
	return nil
}
