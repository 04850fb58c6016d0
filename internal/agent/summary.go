package agent

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"

	"deerflow/internal/thread"
)

//go:embed summary.md.tmpl
var summaryText string

// maxSummaryChars is how many characters of a summary the model reads (spec
// 4.17).
const maxSummaryChars = 6000

// SummaryInput is what a summary is made of.
type SummaryInput struct {
	Existing string // the summary so far
	Messages []thread.Message
	Tokens   int    // of the summary, at most
	Trim     int    // tokens of transcript and summary so far, at most
	Prompt   string // in place of our own
}

// SummaryPrompt asks a model for a summary. What the record holds is escaped, so
// that it cannot close the tags that it stands in. Half of the budget is for the
// summary so far, of which the end is kept, half for the messages, of which the
// long ones are shortened.
func SummaryPrompt(in SummaryInput) (string, error) {
	half := in.Trim / 2
	existing := lastTokens(Escape(in.Existing), half)
	record := record(in.Messages, in.Trim-thread.EstimateTokens(existing), Escape)
	if in.Prompt != "" {
		return customPrompt(in.Prompt, existing, record), nil
	}
	t, err := template.New("summary").Parse(summaryText)
	if err != nil {
		return "", fmt.Errorf("parse the prompt for summaries: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{"Words": max(in.Tokens/2, 60), "Existing": existing, "Messages": record})
	if err != nil {
		return "", fmt.Errorf("write the prompt for a summary: %w", err)
	}
	return b.String(), nil
}

// customPrompt puts the record where a configured prompt wants it, or behind it.
func customPrompt(prompt, existing, record string) string {
	data := "<new_messages>\n" + record + "\n</new_messages>"
	if existing != "" {
		data = "<existing_summary>\n" + existing + "\n</existing_summary>\n" + data
	}
	if strings.Contains(prompt, "{messages}") {
		return strings.ReplaceAll(prompt, "{messages}", data)
	}
	return prompt + "\n\n" + data
}

// PlainSummary stands for messages when no model could summarise them: the
// summary so far and the beginnings of what was said, the newest last.
func PlainSummary(in SummaryInput) string {
	const notice = "[No model could write a summary of the older messages. These are their first words; the rest is left out.]"
	room := in.Tokens - thread.EstimateTokens(notice)
	existing := lastTokens(in.Existing, room/2)
	parts := []string{existing, notice, record(in.Messages, room-thread.EstimateTokens(existing), strings.Clone)}
	if existing == "" {
		parts = parts[1:]
	}
	return BoundSummary(strings.Join(parts, "\n\n"), in.Tokens)
}

// BoundSummary cuts a summary to what the model is to read of it: head and tail.
func BoundSummary(text string, tokens int) string {
	text = bounded(strings.TrimSpace(text), maxSummaryChars)
	for thread.EstimateTokens(text) > tokens {
		n := utf8.RuneCountInString(text)
		text = bounded(text, min(n*tokens/thread.EstimateTokens(text), n-1))
	}
	return text
}

// bounded cuts a text to n characters: two thirds of head, then the tail.
func bounded(text string, n int) string {
	const gap = "\n...\n"
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	runes := []rune(text)
	if n <= len(gap) {
		return string(runes[:max(n, 0)])
	}
	head := min(n*2/3, n-len(gap))
	tail := n - head - len(gap)
	return string(runes[:head]) + gap + string(runes[len(runes)-tail:])
}

// lastTokens is the end of a text that has about n tokens.
func lastTokens(text string, n int) string {
	runes := []rune(text)
	cost := 0
	for i := len(runes) - 1; i >= 0; i-- {
		if runes[i] < utf8.RuneSelf {
			cost++
		} else {
			cost += 4
		}
		if cost > 4*n {
			return string(runes[i+1:])
		}
	}
	return text
}

// Escape makes a text harmless within tags.
func Escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
