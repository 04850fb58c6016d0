package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The checker of this file refuses what real providers refuse. It knows the
// wire alone and none of the code that makes requests.

type checkedBody struct {
	Messages []checkedMessage `json:"messages"`
	Tools    []struct {
		Function struct {
			Name       string                     `json:"name"`
			Parameters map[string]json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type checkedMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Reasoning *string         `json:"reasoning_content"`
	CallID    *string         `json:"tool_call_id"`
	Calls     []struct {
		ID       *string `json:"id"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

var toolNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// violations are the rules V1-V9 and V11-V13 that a request body breaks.
func violations(body []byte, thinking bool) []string {
	var found []string
	note := func(rule string, i int, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s messages[%d]: %s", rule, i, fmt.Sprintf(format, args...)))
	}
	var b checkedBody
	if err := json.Unmarshal(body, &b); err != nil {
		return []string{"shape: " + err.Error()}
	}
	open := map[string]bool{}
	calls := false
	for i, m := range b.Messages {
		calls = calls || len(m.Calls) > 0
		if m.Role == "tool" {
			checkResult(i, m, open, note)
			continue
		}
		if len(open) > 0 {
			note("V1", i, "calls without a result before it: %v", open)
			open = map[string]bool{}
		}
		switch {
		case m.Role == "system" && i == 0:
		case m.Role == "system":
			note("V6", i, "a system message that is not first")
		case m.Role == "user":
			if !shows(m.Content) {
				note("V13", i, "empty user content")
			}
		case m.Role == "assistant":
			checkAssistant(i, m, thinking, note)
			checkCalls(i, m, open, note)
		default:
			note("shape", i, "role %q", m.Role)
		}
	}
	if len(open) > 0 {
		note("V1", len(b.Messages), "calls without a result: %v", open)
	}
	if calls && len(b.Tools) == 0 {
		found = append(found, "V12: calls in the history, no tools")
	}
	return append(found, checkTools(&b)...)
}

func checkResult(i int, m checkedMessage, open map[string]bool, note func(string, int, string, ...any)) {
	if m.CallID == nil || !open[*m.CallID] {
		note("V2", i, "a result that was not asked for")
		return
	}
	delete(open, *m.CallID)
	if !shows(m.Content) {
		note("V8", i, "a result without content")
	}
}

func checkAssistant(i int, m checkedMessage, thinking bool, note func(string, int, string, ...any)) {
	if len(m.Calls) == 0 && !shows(m.Content) {
		note("V7", i, "nothing visible")
	}
	if thinking && len(m.Calls) > 0 && (m.Reasoning == nil || *m.Reasoning == "") {
		note("V9", i, "no reasoning_content")
	}
}

func checkCalls(i int, m checkedMessage, open map[string]bool, note func(string, int, string, ...any)) {
	for _, c := range m.Calls {
		switch {
		case c.ID == nil || strings.TrimSpace(*c.ID) == "":
			note("V3", i, "a call without an id")
		case open[*c.ID]:
			note("V3", i, "id %q twice", *c.ID)
		default:
			open[*c.ID] = true
		}
		if !toolNamePattern.MatchString(c.Function.Name) {
			note("V4", i, "name %q", c.Function.Name)
		}
		var object map[string]json.RawMessage
		if c.Function.Arguments == nil || json.Unmarshal([]byte(*c.Function.Arguments), &object) != nil || object == nil {
			note("V5", i, "arguments that are no object")
		}
	}
}

func checkTools(b *checkedBody) []string {
	var found []string
	seen := map[string]bool{}
	for _, t := range b.Tools {
		if !toolNamePattern.MatchString(t.Function.Name) || seen[t.Function.Name] {
			found = append(found, fmt.Sprintf("V4: tool name %q", t.Function.Name))
		}
		seen[t.Function.Name] = true
		var properties map[string]json.RawMessage
		if string(t.Function.Parameters["type"]) != `"object"` ||
			json.Unmarshal(t.Function.Parameters["properties"], &properties) != nil || properties == nil {
			found = append(found, fmt.Sprintf("V11: schema of %q", t.Function.Name))
		}
	}
	return found
}

// shows reports whether content is visible: a text that is not blank, or a part
// that is no text.
func shows(raw json.RawMessage) bool {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text) != ""
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return false
	}
	for _, p := range parts {
		if p.Type != "text" && p.Type != "" || strings.TrimSpace(p.Text) != "" {
			return true
		}
	}
	return false
}

// A checker that finds nothing would prove nothing.
func TestCheckerFindsFaults(t *testing.T) {
	t.Parallel()
	const ask = `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"ls","arguments":"{}"}}]}`
	const tools = `,"tools":[{"function":{"name":"ls","parameters":{"type":"object","properties":{}}}}]`
	for rule, body := range map[string]string{
		"V1":  `{"messages":[` + ask + `,{"role":"user","content":"x"}]` + tools + `}`,
		"V2":  `{"messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`,
		"V3":  `{"messages":[{"role":"assistant","tool_calls":[{"id":"","function":{"name":"ls","arguments":"{}"}}]}]` + tools + `}`,
		"V4":  `{"messages":[],"tools":[{"function":{"name":"a b","parameters":{"type":"object","properties":{}}}}]}`,
		"V5":  `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"ls","arguments":"[]"}}]},{"role":"tool","tool_call_id":"a","content":"x"}]` + tools + `}`,
		"V6":  `{"messages":[{"role":"user","content":"x"},{"role":"system","content":"s"}]}`,
		"V7":  `{"messages":[{"role":"assistant","content":" "}]}`,
		"V8":  `{"messages":[` + ask + `,{"role":"tool","tool_call_id":"a"}]` + tools + `}`,
		"V9":  `{"messages":[` + ask + `,{"role":"tool","tool_call_id":"a","content":"x"}]` + tools + `}`,
		"V11": `{"messages":[],"tools":[{"function":{"name":"ls","parameters":{"type":"object"}}}]}`,
		"V12": `{"messages":[` + ask + `,{"role":"tool","tool_call_id":"a","content":"x"}]}`,
		"V13": `{"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`,
	} {
		found := strings.Join(violations([]byte(body), rule == "V9"), "; ")
		require.True(t, strings.HasPrefix(found, rule+" ") || strings.HasPrefix(found, rule+":"), "%s: found %q", rule, found)
	}
}
