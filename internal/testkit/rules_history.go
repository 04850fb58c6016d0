package testkit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// openCalls are the calls of the last assistant message that ask for results.
type openCalls struct {
	at       int             // index of the assistant message
	asked    map[string]bool // every id it asked for
	waiting  map[string]bool // the ids that have no result yet
	overdue  bool            // another role came in between; already reported as V1
	answered map[string]bool // the ids that have one
}

// checkToolResults checks V1 and V2.
func checkToolResults(c *chat, _ Rules) []Violation {
	var found []Violation
	open := openCalls{}
	settle := func() {
		if len(open.waiting) > 0 && !open.overdue {
			ids := slices.Sorted(maps.Keys(open.waiting))
			found = append(found, Violation{
				V1, messagePath(open.at),
				"tool_calls must be followed at once by one tool message per id; no result for " + strings.Join(ids, ", "),
			})
		}
		open.overdue = true
	}
	for i, m := range c.messages {
		if m.Role == "tool" {
			if v, bad := open.result(i, m.ToolCallID); bad {
				found = append(found, v)
			}
			continue
		}
		settle()
		if m.Role == "assistant" && len(m.ToolCalls) > 0 {
			open = newOpenCalls(i, m.ToolCalls)
		}
	}
	settle()
	return found
}

func newOpenCalls(at int, calls []ChatToolCall) openCalls {
	open := openCalls{at: at, asked: map[string]bool{}, waiting: map[string]bool{}, answered: map[string]bool{}}
	for _, call := range calls {
		if call.ID != "" { // a call without an id is V3
			open.asked[call.ID] = true
			open.waiting[call.ID] = true
		}
	}
	return open
}

// result notes the tool message at i. A late result of a batch that was
// reported as V1 is no second fault.
func (o *openCalls) result(i int, id string) (Violation, bool) {
	path := messagePath(i) + ".tool_call_id"
	switch {
	case id == "":
		return Violation{V2, path, "missing or empty"}, true
	case !o.asked[id]:
		return Violation{V2, path, fmt.Sprintf("no call with id %q is open here", id)}, true
	case o.answered[id]:
		return Violation{V2, path, fmt.Sprintf("second result for id %q", id)}, true
	}
	o.answered[id] = true
	delete(o.waiting, id)
	return Violation{}, false
}

// checkSystem checks V6. The newer role name "developer" counts as system.
func checkSystem(c *chat, _ Rules) []Violation {
	var found []Violation
	seen := 0
	for i, m := range c.messages {
		if m.Role != "system" && m.Role != "developer" {
			continue
		}
		seen++
		switch {
		case seen > 1:
			found = append(found, Violation{V6, messagePath(i), "a second system message"})
		case i > 0:
			found = append(found, Violation{V6, messagePath(i), "the system message is not first"})
		}
	}
	return found
}

// checkAssistant checks V7.
func checkAssistant(c *chat, _ Rules) []Violation {
	var found []Violation
	for i, m := range c.messages {
		if m.Role == "assistant" && len(m.ToolCalls) == 0 && !visible(m.Content) {
			found = append(found, Violation{V7, messagePath(i), "an assistant message needs visible content or tool calls"})
		}
	}
	return found
}

// checkToolContent checks V8. A null is no content either.
func checkToolContent(c *chat, _ Rules) []Violation {
	var found []Violation
	for i, m := range c.messages {
		if m.Role == "tool" && isNull(m.Content) {
			found = append(found, Violation{V8, messagePath(i) + ".content", "a tool message needs content"})
		}
	}
	return found
}

// checkReasoning checks V9.
func checkReasoning(c *chat, rules Rules) []Violation {
	if !rules.Thinking {
		return nil
	}
	var found []Violation
	for i, m := range c.messages {
		if m.Role != "assistant" || len(m.ToolCalls) == 0 {
			continue
		}
		path := messagePath(i) + ".reasoning_content"
		if m.Reasoning == "" {
			found = append(found, Violation{V9, path, "thinking is on: a message with tool calls must bring its reasoning_content back"})
			continue
		}
		if given := givenReasoning(m.ToolCalls, rules); len(given) > 0 && !slices.Contains(given, m.Reasoning) {
			found = append(found, Violation{V9, path, fmt.Sprintf("%q is not the text that came with these calls", m.Reasoning)})
		}
	}
	return found
}

// givenReasoning returns the reasoning texts known for calls.
func givenReasoning(calls []ChatToolCall, rules Rules) []string {
	if rules.Reasoning == nil {
		return nil
	}
	var given []string
	for _, call := range calls {
		for _, text := range rules.Reasoning(call.ID) {
			if text == "" {
				return nil // once given without reasoning: a placeholder is right
			}
			given = append(given, text)
		}
	}
	return given
}

// checkUser checks V13.
func checkUser(c *chat, _ Rules) []Violation {
	var found []Violation
	for i, m := range c.messages {
		if m.Role == "user" && !visible(m.Content) {
			found = append(found, Violation{V13, messagePath(i) + ".content", "a user message needs content"})
		}
	}
	return found
}
