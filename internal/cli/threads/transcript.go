package threads

import (
	"encoding/json"
	"strings"

	"deerflow/internal/cli"
	"deerflow/internal/thread"
)

// entry is one piece of a transcript as people read it.
type entry struct {
	kind entryKind
	text string
	// of a call
	failed, open bool
	result       string // of one that failed
	// of a question
	options []string
	// of what a person said
	files []string
}

type entryKind int

const (
	said     entryKind = iota // by the person
	answered                  // by the agent, or what it wrote between tool calls
	called                    // a tool
	asked                     // by the agent
	replied                   // by the person, to a question
)

// askTool is the tool whose calls are questions.
const askTool = "ask_clarification"

// transcriptOf folds messages: each tool call is one entry with its outcome, questions and answers are told as such, and
// what the framework says to the model is left out.
func transcriptOf(messages []thread.Message) []entry {
	results := map[string]*thread.Message{}
	for i := range messages {
		if m := &messages[i]; m.Role == thread.RoleTool {
			results[m.ToolCallID] = m
		}
	}
	var entries []entry
	for i := range messages {
		switch m := &messages[i]; m.Role {
		case thread.RoleHuman:
			entries = append(entries, humanEntry(m)...)
		case thread.RoleAI:
			if text := strings.TrimSpace(m.Content.String()); text != "" && !m.Hidden() {
				entries = append(entries, entry{kind: answered, text: text})
			}
			for _, call := range m.ToolCalls {
				entries = append(entries, callEntry(call, results[call.ID]))
			}
			for _, bad := range m.InvalidToolCalls {
				entries = append(entries, entry{kind: called, text: bad.Name, failed: true, result: bad.Error})
			}
		case thread.RoleTool, thread.RoleSystem:
		}
	}
	return entries
}

func humanEntry(m *thread.Message) []entry {
	if response, ok := m.AdditionalKwargs[thread.KeyHumanInputResponse].(map[string]any); ok {
		text, _ := response["value"].(string)
		if text == "" {
			text = m.Content.String()
		}
		return []entry{{kind: replied, text: strings.TrimSpace(text)}}
	}
	if m.Hidden() {
		return nil
	}
	e := entry{kind: said, text: strings.TrimSpace(m.Content.String())}
	files, _ := m.AdditionalKwargs[thread.KeyFiles].([]any)
	for _, file := range files {
		if f, ok := file.(map[string]any); ok {
			if name, ok := f["filename"].(string); ok {
				e.files = append(e.files, name)
			}
		}
	}
	return []entry{e}
}

func callEntry(call thread.ToolCall, result *thread.Message) entry {
	if call.Name == askTool {
		return questionEntry(call.Args)
	}
	e := entry{kind: called, text: strings.TrimSpace(call.Name + " " + cli.About(call.Name, call.Args)), open: result == nil}
	if result != nil && result.Status == thread.ToolError {
		e.failed, e.result = true, result.Content.String()
	}
	return e
}

func questionEntry(args json.RawMessage) entry {
	var a struct {
		Question string            `json:"question"`
		Options  []json.RawMessage `json:"options"`
	}
	_ = json.Unmarshal(args, &a) // a question that was asked wrongly is told as far as it can be read
	e := entry{kind: asked, text: strings.TrimSpace(a.Question)}
	for _, raw := range a.Options {
		var label string
		var option struct {
			Label string `json:"label"`
			Value string `json:"value"`
		}
		if json.Unmarshal(raw, &label) != nil && json.Unmarshal(raw, &option) == nil {
			if label = option.Label; label == "" {
				label = option.Value
			}
		}
		if label != "" {
			e.options = append(e.options, label)
		}
	}
	return e
}
