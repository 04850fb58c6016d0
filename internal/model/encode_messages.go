package model

import (
	"encoding/json"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"deerflow/internal/thread"
)

// message is one entry of the request's messages. The library's own type cannot
// say null, "" or nothing where providers tell them apart.
type message struct {
	Role             string     `json:"role"`
	Content          any        `json:"content,omitempty"` // text, parts, nullContent; nil leaves it out
	ReasoningContent *string    `json:"reasoning_content,omitempty"`
	Reasoning        *string    `json:"reasoning,omitempty"`
	ReasoningDetails any        `json:"reasoning_details,omitempty"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
}

// nullContent is content that is sent as null.
var nullContent = json.RawMessage("null")

type toolCall struct {
	ID           string          `json:"id"`
	Type         openai.ToolType `json:"type"`
	Function     function        `json:"function"`
	ExtraContent any             `json:"extra_content,omitempty"`
}

// function always has its arguments; the library's type leaves "" out.
type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// messageEncoder turns a repaired history into the request's messages.
type messageEncoder struct {
	cfg      *Config
	learned  quirks
	thinking bool
}

// wireMessages is the messages of a request, one system message first (V6, A21).
func wireMessages(cfg *Config, learned quirks, req *Request, history []thread.Message) ([]message, error) {
	e := messageEncoder{cfg: cfg, learned: learned, thinking: cfg.Thinking && req.Thinking}
	var out []message
	if system := systemText(req.System, history); system != "" {
		out = append(out, message{Role: openai.ChatMessageRoleSystem, Content: system})
	}
	lead := len(out)
	for i := range history {
		m := &history[i]
		switch m.Role {
		case thread.RoleHuman:
			out = append(out, message{Role: openai.ChatMessageRoleUser, Content: userContent(m.Content)})
		case thread.RoleAI:
			out = append(out, e.assistant(m))
		case thread.RoleTool:
			out = append(out, message{Role: openai.ChatMessageRoleTool, Content: m.Content.String(), ToolCallID: m.ToolCallID})
		case thread.RoleSystem: // gathered in systemText
		}
	}
	if len(out) == lead {
		return nil, errNothingToSend
	}
	return out, nil
}

// systemText is the static prompt and behind it the system messages of the
// history, of dated reminders only the last.
func systemText(static string, history []thread.Message) string {
	lastReminder := -1
	for i := range history {
		if isReminder(&history[i]) {
			lastReminder = i
		}
	}
	texts := []string{}
	if !blank(static) {
		texts = append(texts, static)
	}
	for i := range history {
		m := &history[i]
		if m.Role == thread.RoleSystem && (!isReminder(m) || i == lastReminder) {
			texts = append(texts, m.Content.String())
		}
	}
	return strings.Join(texts, "\n\n")
}

func isReminder(m *thread.Message) bool {
	marked, _ := m.AdditionalKwargs["dynamic_context_reminder"].(bool)
	return m.Role == thread.RoleSystem && marked
}

func (e *messageEncoder) assistant(m *thread.Message) message {
	out := message{Role: openai.ChatMessageRoleAssistant}
	e.reason(&out, m)
	if text := m.Content.String(); !blank(text) {
		out.Content = text
	} else {
		switch e.cfg.Flags.ToolOnlyContent {
		case ToolOnlyEmpty:
			out.Content = ""
		case ToolOnlyOmit:
		default:
			out.Content = nullContent
		}
	}
	extras := e.extras(m)
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, toolCall{
			ID: c.ID, Type: openai.ToolTypeFunction, ExtraContent: extras[c.ID],
			Function: function{Name: c.Name, Arguments: string(c.Args)},
		})
	}
	return out
}

// own reports whether this model wrote the message.
func (e *messageEncoder) own(m *thread.Message) bool {
	name, _ := m.ResponseMetadata[MetaConfigured].(string)
	return name != "" && name == e.cfg.Name
}

func (e *messageEncoder) extras(m *thread.Message) map[string]any {
	extras, _ := m.AdditionalKwargs[KeyCallExtras].(map[string]any)
	if !e.own(m) {
		return nil
	}
	return extras
}

// placeholder stands for reasoning that is gone, or was never there; some
// providers refuse "" here.
const placeholder = " "

// reason adds the reasoning that a message goes back with (V9, A18).
func (e *messageEncoder) reason(out *message, m *thread.Message) {
	mode := e.cfg.Flags.ReasoningContent
	if mode == ReasoningOmit || e.learned.noReasoning {
		return
	}
	thinks := e.thinking || mode == ReasoningPlaceholder || e.learned.wantsReasoning
	if !thinks && !e.own(m) {
		return
	}
	if details, ok := m.AdditionalKwargs[KeyReasoningDetails]; ok && e.own(m) {
		out.ReasoningDetails = details
	}
	text := m.Reasoning()
	if text == "" && thinks && len(m.ToolCalls) > 0 {
		text = placeholder
	}
	switch {
	case text == "":
	case e.cfg.Flags.ReasoningField == "reasoning":
		out.Reasoning = &text
	default:
		out.ReasoningContent = &text
	}
}
