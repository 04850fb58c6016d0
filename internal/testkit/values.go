package testkit

import (
	"encoding/json"
	"fmt"
)

// Values are the channels of a thread's state.
type Values map[string]json.RawMessage

// Message is a message as the API shows it.
type Message struct {
	ID               string          `json:"id"`
	Type             string          `json:"type"` // human, ai, tool, system, AIMessageChunk
	Name             string          `json:"name"`
	Content          json.RawMessage `json:"content"`
	ToolCalls        []MessageCall   `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	Status           string          `json:"status"` // of a tool message: success or error
	AdditionalKwargs map[string]any  `json:"additional_kwargs"`
	Artifact         json.RawMessage `json:"artifact"`
	Usage            json.RawMessage `json:"usage_metadata"`
}

// MessageCall is a tool call of a [Message].
type MessageCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// Text returns the text of the message, whether its content is a string or a
// list of parts.
func (m Message) Text() string {
	return contentText(m.Content)
}

// Decode decodes one channel into v; a channel that is not there is an error.
func (v Values) Decode(channel string, into any) error {
	raw, ok := v[channel]
	if !ok {
		return fmt.Errorf("the values have no channel %q", channel)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decode channel %q: %w", channel, err)
	}
	return nil
}

// Messages returns the messages of the state, none when there is no such
// channel.
func (v Values) Messages() ([]Message, error) {
	if isNull(v["messages"]) {
		return nil, nil
	}
	var messages []Message
	if err := v.Decode("messages", &messages); err != nil {
		return nil, err
	}
	return messages, nil
}

// Title returns the title of the thread, "" for none.
func (v Values) Title() string {
	return stringField(v, "title")
}

// Interrupts returns the questions that the state waits on.
func (v Values) Interrupts() ([]Interrupt, error) {
	if isNull(v["__interrupt__"]) {
		return nil, nil
	}
	var interrupts []Interrupt
	if err := v.Decode("__interrupt__", &interrupts); err != nil {
		return nil, err
	}
	return interrupts, nil
}
