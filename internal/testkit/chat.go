package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ChatMessage is one entry of a chat request's messages. It is decoded
// tolerantly: a field of the wrong type reads as its zero value and stays
// visible in Fields.
type ChatMessage struct {
	Role       string
	Content    json.RawMessage // nil when the key is absent
	ToolCalls  []ChatToolCall
	ToolCallID string
	Name       string
	Reasoning  string // reasoning_content
	Fields     map[string]json.RawMessage
}

// ChatToolCall is one entry of an assistant message's tool_calls.
type ChatToolCall struct {
	ID        string
	Name      string
	Arguments string
	Fields    map[string]json.RawMessage // the call itself
	Function  map[string]json.RawMessage // its "function" object
}

// ChatTool is one entry of a chat request's tools.
type ChatTool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // nil when the key is absent
}

// Text returns the text of the message: its content when that is a string, or
// the text parts of a content list, one a line.
func (m ChatMessage) Text() string {
	return contentText(m.Content)
}

// chat is a decoded request body.
type chat struct {
	messages []ChatMessage
	tools    []ChatTool
	fields   map[string]json.RawMessage
}

// parseChat decodes body. It fails only where nothing sensible can be read:
// no JSON object, no list of message objects.
func parseChat(body []byte) (*chat, error) {
	c := &chat{}
	if err := json.Unmarshal(body, &c.fields); err != nil {
		return nil, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	if c.fields == nil {
		return nil, errors.New("the body is null")
	}
	messages, err := parseObjects(c.fields["messages"])
	if err != nil {
		return nil, fmt.Errorf("messages: %w", err)
	}
	for _, m := range messages {
		c.messages = append(c.messages, parseMessage(m))
	}
	if raw := c.fields["tools"]; !isNull(raw) {
		tools, err := parseObjects(raw)
		if err != nil {
			return nil, fmt.Errorf("tools: %w", err)
		}
		for _, t := range tools {
			c.tools = append(c.tools, parseTool(t))
		}
	}
	return c, nil
}

func parseObjects(raw json.RawMessage) ([]map[string]json.RawMessage, error) {
	var list []map[string]json.RawMessage
	if isNull(raw) {
		return nil, errors.New("missing")
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("not a list of objects: %w", err)
	}
	return list, nil
}

func parseMessage(fields map[string]json.RawMessage) ChatMessage {
	m := ChatMessage{
		Role:       stringField(fields, "role"),
		Content:    fields["content"],
		ToolCallID: stringField(fields, "tool_call_id"),
		Name:       stringField(fields, "name"),
		Reasoning:  stringField(fields, "reasoning_content"),
		Fields:     fields,
	}
	calls, err := parseObjects(fields["tool_calls"])
	if err != nil {
		return m // absent, null, or refused by the shape rule
	}
	for _, call := range calls {
		function := objectField(call, "function")
		m.ToolCalls = append(m.ToolCalls, ChatToolCall{
			ID:        stringField(call, "id"),
			Name:      stringField(function, "name"),
			Arguments: stringField(function, "arguments"),
			Fields:    call,
			Function:  function,
		})
	}
	return m
}

func parseTool(fields map[string]json.RawMessage) ChatTool {
	function := objectField(fields, "function")
	return ChatTool{
		Name:        stringField(function, "name"),
		Description: stringField(function, "description"),
		Parameters:  function["parameters"],
	}
}

// contentPart is one entry of a content list.
type contentPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// contentParts returns a content value as parts; a plain string is one text
// part. A value that is neither a string nor a list has no parts.
func contentParts(raw json.RawMessage) []contentPart {
	if isNull(raw) {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []contentPart{{Type: "text", Text: text}}
	}
	var parts []contentPart
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	return parts
}

func contentText(raw json.RawMessage) string {
	var texts []string
	for _, part := range contentParts(raw) {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// visible reports whether a content value shows anything: text that is not
// blank, or a part that is no text at all (an image, a file).
func visible(raw json.RawMessage) bool {
	for _, part := range contentParts(raw) {
		switch part.Type {
		case "text", "":
			if strings.TrimSpace(part.Text) != "" {
				return true
			}
		case "refusal":
			if strings.TrimSpace(part.Refusal) != "" {
				return true
			}
		default:
			return true
		}
	}
	return false
}

func stringField(fields map[string]json.RawMessage, key string) string {
	text, _ := stringValue(fields, key)
	return text
}

// stringValue reports whether fields has key as a JSON string.
func stringValue(fields map[string]json.RawMessage, key string) (string, bool) {
	raw := fields[key]
	if isNull(raw) {
		return "", false
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return text, true
}

func objectField(fields map[string]json.RawMessage, key string) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(fields[key], &object) != nil {
		return nil
	}
	return object
}

// isNull reports whether a value is absent or JSON null.
func isNull(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null"))
}
