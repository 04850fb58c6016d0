package thread

import "encoding/json"

// KeyContext holds what the framework tells the model with a human message:
// the date, a memory, uploaded files, an activated skill. It stands beside the
// user's own text, which is never changed, and only the server writes it.
const KeyContext = "deerflow_context"

// ContextKind says what a block of context is about.
type ContextKind string

// The kinds, in the order in which they stand before the user's text.
const (
	ContextDate    ContextKind = "date"
	ContextMemory  ContextKind = "memory"
	ContextUploads ContextKind = "uploads"
	ContextSkill   ContextKind = "skill"
)

// ContextBlock is one piece of context, in the words that the model reads.
type ContextBlock struct {
	Kind ContextKind `json:"kind"`
	Text string      `json:"text"`
	// Day is the ISO date that a date block tells.
	Day string `json:"day,omitempty"`
}

// Context is what stands before the message's text in a request.
func (m *Message) Context() []ContextBlock {
	value, ok := m.AdditionalKwargs[KeyContext]
	if !ok {
		return nil
	}
	if blocks, ok := value.([]ContextBlock); ok {
		return blocks
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var blocks []ContextBlock
	if json.Unmarshal(data, &blocks) != nil {
		return nil
	}
	return blocks
}

// SetContext puts blocks before the message's text; none takes them away.
func (m *Message) SetContext(blocks []ContextBlock) {
	if len(blocks) == 0 {
		delete(m.AdditionalKwargs, KeyContext)
		return
	}
	m.SetKwarg(KeyContext, blocks)
}
