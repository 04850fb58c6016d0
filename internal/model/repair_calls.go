package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"deerflow/internal/thread"
)

// repairCall is one call of a message under repair.
type repairCall struct {
	call   thread.ToolCall // with a valid name and arguments
	id     string          // as it was; blank when there was none
	fault  string          // why it could not be run, "" when it could
	bare   bool            // there was no name
	result int             // position of its result, -1 when there is none
}

// callsOf are the calls that a message asks for. What a provider sent in its own
// form counts only where nothing else is left of it, or one call would be two
// (B07).
func callsOf(m *thread.Message) []repairCall {
	var calls []repairCall
	for _, c := range m.ToolCalls {
		calls = append(calls, newRepairCall(c.ID, c.Name, string(c.Args)))
	}
	for _, c := range m.InvalidToolCalls {
		rc := newRepairCall(c.ID, c.Name, "{}")
		rc.fault = firstOf(c.Error, "the arguments are not a JSON object")
		calls = append(calls, rc)
	}
	raw, has := m.AdditionalKwargs["tool_calls"]
	if !has {
		return calls
	}
	if len(calls) == 0 {
		calls = rawCalls(raw)
	}
	kwargs := make(map[string]any, len(m.AdditionalKwargs))
	for k, v := range m.AdditionalKwargs {
		if k != "tool_calls" {
			kwargs[k] = v
		}
	}
	m.AdditionalKwargs = kwargs
	return calls
}

// rawCalls reads calls in the provider's own form.
func rawCalls(raw any) []repairCall {
	text, err := json.Marshal(raw)
	if err != nil {
		return nil
	}
	d := delta{ToolCalls: text}
	var calls []repairCall
	for _, p := range d.pieces() {
		var j joiner
		calls = append(calls, newRepairCall(p.id, p.name, j.push(p.args)))
	}
	return calls
}

func newRepairCall(id, name, args string) repairCall {
	c := repairCall{id: id, bare: blank(name), result: -1}
	object, err := parseArguments(args)
	if err != nil {
		c.fault = err.Error()
		object = json.RawMessage("{}")
	}
	c.call = thread.ToolCall{Name: wireName(name), Args: compact(object), Type: "tool_call"}
	return c
}

// compact gives arguments one spelling, so that a request does not depend on
// where its history was read from.
func compact(object json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, object) != nil {
		return json.RawMessage("{}")
	}
	return b.Bytes()
}

// nameCalls gives every call an id that is unique in its message. Ids that are
// valid stay as they are; a made one depends only on the message and the place.
func nameCalls(m *thread.Message, at int, calls []repairCall) {
	used := map[string]bool{}
	for i := range calls {
		if id := calls[i].id; !blank(id) && !used[id] {
			used[id] = true
			calls[i].call.ID = id
		}
	}
	scope := m.ID
	if scope == "" {
		scope = fmt.Sprintf("message-%d", at)
	}
	for i := range calls {
		c := &calls[i]
		if c.call.ID != "" {
			continue
		}
		id := c.id
		if blank(id) {
			id = madeID(scope, i)
		}
		c.call.ID = freshID(id, func(id string) bool { return used[id] })
		used[c.call.ID] = true
	}
}

// standIn is the result of a call that has none: what happened, as far as it is
// known, and what to do.
func (c *repairCall) standIn() thread.Message {
	fault := thread.Prefix(strings.TrimPrefix(c.fault, notExecuted), maxKeptArgs)
	text := "Error: this call was interrupted before it gave a result. It may or may not have run: check its effect before you repeat it."
	switch {
	case c.bare:
		text = "Error: the call had no tool name, so nothing was run. Use one of the available tools, by its exact name."
	case c.fault != "" && c.call.Name == "write_file":
		text = "Error: no file was written: " + fault +
			" Do not send the same large content again: write it in sections with append, or give it as text in your answer."
	case c.fault != "":
		text = "Error: the call was not run: " + fault
	}
	return thread.ToolResult("", c.call, thread.ToolError, text)
}
