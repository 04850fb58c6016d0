package model

import (
	"bytes"
	"encoding/json"
)

// chunk is one event of a stream, or a whole completion. Every field is read
// loosely: one odd field must not cost the answer.
type chunk struct {
	Choices json.RawMessage `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	XGroq   json.RawMessage `json:"x_groq"` // an older place of usage
	Model   looseString     `json:"model"`
}

type choice struct {
	Index        looseInt        `json:"index"`
	Delta        json.RawMessage `json:"delta"`
	Message      json.RawMessage `json:"message"`
	Text         json.RawMessage `json:"text"`
	FinishReason looseString     `json:"finish_reason"`
	StopReason   looseString     `json:"stop_reason"`
	Usage        json.RawMessage `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

// delta is what a choice adds; a whole message has the same fields.
type delta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
	FunctionCall     json.RawMessage `json:"function_call"`
}

// callPiece is a piece of a tool call as it came.
type callPiece struct {
	index looseInt
	id    string
	name  string
	args  []byte
	extra json.RawMessage
}

// objects decodes a list of objects; a single object counts as a list of one,
// and what is no object is skipped.
func objects[T any](raw json.RawMessage) []T {
	if isNull(raw) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		items = []json.RawMessage{raw}
	}
	out := make([]T, 0, len(items))
	for _, item := range items {
		var v T
		if trimmed := bytes.TrimSpace(item); len(trimmed) > 0 && trimmed[0] == '{' && json.Unmarshal(trimmed, &v) == nil {
			out = append(out, v)
		}
	}
	return out
}

// object decodes one object and reports whether it is one.
func object[T any](raw json.RawMessage) (T, bool) {
	var v T
	trimmed := bytes.TrimSpace(raw)
	ok := len(trimmed) > 0 && trimmed[0] == '{' && json.Unmarshal(trimmed, &v) == nil
	return v, ok
}

// contentPart is one entry of content that is a list.
type contentPart struct {
	Type      looseString     `json:"type"`
	Text      json.RawMessage `json:"text"`
	Thinking  json.RawMessage `json:"thinking"`
	Reasoning json.RawMessage `json:"reasoning"`
	Refusal   json.RawMessage `json:"refusal"`
}

// contentText reads content: a string, a part, a list of strings and parts, or
// null. Parts that hold thinking go to reasoning.
func contentText(raw json.RawMessage) (text, reasoning []byte) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	switch raw[0] {
	case '"':
		text, _ = unquote(raw)
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return nil, nil
		}
		for _, item := range items {
			t, r := contentText(item)
			text, reasoning = append(text, t...), append(reasoning, r...)
		}
	case '{':
		part, _ := object[contentPart](raw)
		return part.read()
	}
	return text, reasoning
}

func (p contentPart) read() (text, reasoning []byte) {
	switch p.Type {
	case "thinking", "reasoning", "reasoning_text":
		for _, raw := range []json.RawMessage{p.Thinking, p.Reasoning, p.Text} {
			t, r := contentText(raw)
			reasoning = append(append(reasoning, t...), r...)
		}
		return nil, reasoning
	case "refusal":
		return contentText(p.Refusal)
	}
	return contentText(p.Text)
}

// reasoningText is the thinking of a delta. Some servers send one text under
// two names, which must not be doubled.
func (d *delta) reasoningText() []byte {
	for _, raw := range []json.RawMessage{d.ReasoningContent, d.Reasoning} {
		text, more := contentText(raw)
		if text = append(text, more...); len(text) > 0 {
			return text
		}
	}
	var text []byte
	for _, detail := range objects[reasoningDetail](d.ReasoningDetails) {
		for _, raw := range []json.RawMessage{detail.Text, detail.Summary} {
			if part, ok := unquote(raw); ok {
				text = append(text, part...)
			}
		}
	}
	return text
}

type reasoningDetail struct {
	Text    json.RawMessage `json:"text"`
	Summary json.RawMessage `json:"summary"`
}

// wireCall is a tool call as providers write it: name and arguments in the
// function object, or beside it.
type wireCall struct {
	Index        looseInt        `json:"index"`
	ID           looseString     `json:"id"`
	Name         looseString     `json:"name"`
	Arguments    json.RawMessage `json:"arguments"`
	Function     json.RawMessage `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

// pieces are the parts of tool calls in a delta, the older function_call among
// them.
func (d *delta) pieces() []callPiece {
	calls := objects[wireCall](d.ToolCalls)
	if legacy, ok := object[wireCall](d.FunctionCall); ok {
		legacy.Index = looseInt{set: true}
		calls = append(calls, legacy)
	}
	out := make([]callPiece, 0, len(calls))
	for _, c := range calls {
		if fn, ok := object[wireCall](c.Function); ok {
			c.Name, c.Arguments = fn.Name, fn.Arguments
		}
		out = append(out, callPiece{
			index: c.Index, id: string(c.ID), name: string(c.Name),
			args: argumentText(c.Arguments), extra: c.ExtraContent,
		})
	}
	return out
}

// argumentText is the text of arguments, which should be a string and is
// sometimes the object itself.
func argumentText(raw json.RawMessage) []byte {
	if isNull(raw) {
		return nil
	}
	if text, ok := unquote(raw); ok {
		return text
	}
	return bytes.Clone(raw)
}
