package agent

import (
	"fmt"
	"slices"
	"strings"

	"deerflow/internal/thread"
)

// context puts the date and the memory of message Ref before the message at an
// index. Its files and its skill belong to that message alone.
func (e *Edit) context(out []thread.Message, at, n int, from Sources) ([]thread.Message, error) {
	if from.Context == nil {
		return out, nil
	}
	blocks, err := from.Context(e.Ref)
	if err != nil {
		return nil, fmt.Errorf("read the context of message %s: %w", e.Ref, err)
	}
	text := contextText(slices.DeleteFunc(slices.Clone(blocks), func(b thread.ContextBlock) bool {
		return b.Kind != thread.ContextDate && b.Kind != thread.ContextMemory
	}))
	if text == "" {
		return out, nil
	}
	repeat := *e
	repeat.Role, repeat.Text = thread.RoleHuman, text
	return slices.Insert(slices.Clone(out), at, repeat.message(n)), nil
}

// WithContext puts the context of each message before its text, as the model
// reads it. It comes after all edits: what guards a user's text must not touch
// the framework's own.
func WithContext(messages []thread.Message) []thread.Message {
	out := slices.Clone(messages)
	for i := range out {
		if text := contextText(out[i].Context()); text != "" {
			out[i].Content = before(text, out[i].Content)
		}
	}
	return out
}

func contextText(blocks []thread.ContextBlock) string {
	texts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// before puts text in front of a content; a list gets it as its first block.
func before(text string, c thread.Content) thread.Content {
	if c.IsBlocks() {
		return thread.Blocks(append([]thread.Block{{Type: "text", Text: text}}, c.Parts()...)...)
	}
	if c.String() == "" {
		return thread.Text(text)
	}
	return thread.Text(text + "\n\n" + c.String())
}
