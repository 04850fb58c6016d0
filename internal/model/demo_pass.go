package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"deerflow/internal/thread"
)

// Where the demo reads and writes.
const (
	uploadsDir = "/mnt/user-data/uploads"
	outputsDir = "/mnt/user-data/outputs"
)

// demoPass is what has happened since the last final answer of the thread: the
// question in work and what was done for it.
type demoPass struct {
	question string
	answer   string // to the demo's own question
	asked    string // that question, when it was asked in this pass
	calls    []passCall
	// What went before in the thread, as far as it is in view.
	everAsked     bool
	reportsBefore int
	idle          bool // nobody has said anything since the final answer
}

// passCall is a tool call of the pass with its result.
type passCall struct {
	tool   string
	args   map[string]json.RawMessage
	result string
	failed bool
}

func (c *passCall) arg(name string) string {
	var s string
	if json.Unmarshal(c.args[name], &s) != nil {
		return ""
	}
	return s
}

// readPass reads the pass from a repaired history, in which every call has its
// result right behind it.
func readPass(history []thread.Message) *demoPass {
	start := 0
	for i := range history {
		if m := &history[i]; m.Role == thread.RoleAI && len(m.ToolCalls) == 0 {
			start = i + 1
		}
	}
	p := &demoPass{}
	for _, c := range callsIn(history[:start]) {
		p.everAsked = p.everAsked || c.tool == "ask_clarification"
		if c.tool == "write_file" && !c.failed && strings.HasPrefix(c.arg("path"), outputsDir+"/report") {
			p.reportsBefore++
		}
	}
	p.calls = callsIn(history[start:])
	if ask := p.call("ask_clarification"); ask != nil {
		p.everAsked, p.asked = true, ask.arg("question")
	}
	p.readHumans(history[start:])
	p.idle = p.question == "" && start > 0
	return p
}

// readHumans finds the question and, behind the demo's own question, the answer.
// When that was never put, what comes next is a question of its own.
func (p *demoPass) readHumans(pass []thread.Message) {
	waiting := false
	for i := range pass {
		m := &pass[i]
		if m.Role == thread.RoleAI {
			for _, c := range m.ToolCalls {
				waiting = waiting || c.Name == "ask_clarification"
			}
		}
		text := humanText(m)
		switch {
		case text == "":
		case waiting && p.call("ask_clarification").failed:
			p.question, waiting = text, false
		case waiting:
			p.answer, waiting = text, false
		case p.question == "":
			p.question = text
		}
	}
}

// callsIn are the calls of messages with their results.
func callsIn(messages []thread.Message) []passCall {
	var calls []passCall
	at := map[string]int{}
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case thread.RoleAI:
			for _, c := range m.ToolCalls {
				pc := passCall{tool: c.Name, failed: true}
				_ = json.Unmarshal(c.Args, &pc.args) // repaired arguments are an object
				at[c.ID] = len(calls)
				calls = append(calls, pc)
			}
		case thread.RoleTool:
			if n, ok := at[m.ToolCallID]; ok {
				calls[n].result, calls[n].failed = m.Content.String(), m.Status == thread.ToolError
			}
		case thread.RoleHuman, thread.RoleSystem:
		}
	}
	return calls
}

// call is the last call of a tool in the pass, nil when there was none.
func (p *demoPass) call(tool string) *passCall {
	for i := len(p.calls) - 1; i >= 0; i-- {
		if p.calls[i].tool == tool {
			return &p.calls[i]
		}
	}
	return nil
}

func (p *demoPass) count(tool string) int {
	n := 0
	for i := range p.calls {
		if p.calls[i].tool == tool {
			n++
		}
	}
	return n
}

var (
	inputFrame  = regexp.MustCompile(`(?s)--- BEGIN USER INPUT ---\n(.*)\n--- END USER INPUT ---`)
	answerFrame = regexp.MustCompile(`(?s)^For your clarification ".*", my answer is: (.*)$`)
)

// humanText is what a person wrote in a message, without what the framework put
// around it; "" for messages of the framework.
func humanText(m *thread.Message) string {
	if m.Role != thread.RoleHuman || m.Name == "summary" {
		return ""
	}
	if response, ok := m.AdditionalKwargs[thread.KeyHumanInputResponse].(map[string]any); ok {
		if value := response["value"]; value != nil {
			return strings.TrimSpace(fmt.Sprint(value))
		}
	}
	text := m.Content.String()
	if m.Hidden() && !answerFrame.MatchString(text) {
		return ""
	}
	if original, ok := m.AdditionalKwargs["original_user_content"].(string); ok && original != "" {
		text = original
	}
	if found := inputFrame.FindStringSubmatch(text); found != nil {
		text = found[1]
	}
	text = strings.TrimSpace(text)
	if found := answerFrame.FindStringSubmatch(text); found != nil {
		text = strings.TrimSpace(found[1])
	}
	if text == emptyHuman {
		return ""
	}
	return text
}

// schemaProperties are the names of a schema's properties, nil when it lists none.
func schemaProperties(schema json.RawMessage) map[string]bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil || len(s.Properties) == 0 {
		return nil
	}
	names := map[string]bool{}
	for name := range s.Properties {
		names[name] = true
	}
	return names
}
