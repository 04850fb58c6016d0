package model

import (
	"strings"

	"deerflow/internal/thread"
)

// Texts that stand in for content that a provider would refuse as empty.
const (
	emptyResult = "(no output)" // of a tool (V8)
	emptyHuman  = "(no text)"   // of a user (V13)
)

// Repair gives a history that providers accept, whatever happened to it: every
// assistant message with calls is followed at once by exactly one result per
// call (V1, V2, B01, B03, B07, B08), ids are present and unique in their message
// (V3), names and arguments are valid (V4, V5, B04, B05), no message is empty
// (V7, V8, V13, A20).
//
// The log keeps what was said; only the request is mended. Repair is pure, does
// not change its input, and Repair(Repair(h)) = Repair(h). System messages stay
// where they are: the request gathers them (V6).
func Repair(history []thread.Message) []thread.Message {
	r := newRepairer(history)
	for i := range r.messages {
		m := &r.messages[i]
		switch m.Role {
		case thread.RoleAI:
			r.assistant(i)
		case thread.RoleHuman:
			r.out = append(r.out, humanMessage(*m))
		case thread.RoleSystem:
			if strings.TrimSpace(m.Content.String()) != "" {
				r.out = append(r.out, *m)
			}
		case thread.RoleTool:
			// Results are put behind their calls; one without a call is dropped.
		}
	}
	return r.out
}

// repairer holds the state of one Repair.
type repairer struct {
	messages []thread.Message
	used     []bool           // tool messages that are taken
	byID     map[string][]int // positions of results by call id, in order
	out      []thread.Message
}

func newRepairer(history []thread.Message) *repairer {
	r := &repairer{byID: map[string][]int{}}
	for _, m := range history {
		m.Role = plainRole(m.Role)
		r.messages = append(r.messages, m)
	}
	r.used = make([]bool, len(r.messages))
	for i := range r.messages {
		if m := &r.messages[i]; m.Role == thread.RoleTool && !blank(m.ToolCallID) {
			r.byID[m.ToolCallID] = append(r.byID[m.ToolCallID], i)
		}
	}
	return r
}

// plainRole reads the role names of other systems.
func plainRole(role thread.Role) thread.Role {
	switch role {
	case "user":
		return thread.RoleHuman
	case "assistant", "AIMessageChunk":
		return thread.RoleAI
	case "developer":
		return thread.RoleSystem
	default:
		return role
	}
}

// humanMessage drops blank text parts, which some providers refuse, and never
// leaves nothing.
func humanMessage(m thread.Message) thread.Message {
	var kept []thread.Block
	changed := false
	for _, part := range m.Content.Parts() {
		if (part.Raw == nil || part.Type == "output_text") && blank(part.Text) {
			changed = true
			continue
		}
		kept = append(kept, part)
	}
	switch {
	case len(kept) == 0:
		m.Content = thread.Text(emptyHuman)
	case changed:
		m.Content = thread.Blocks(kept...)
	}
	return m
}

// assistant puts out an assistant message and the results of its calls. One
// with neither calls nor visible text is skipped.
func (r *repairer) assistant(at int) {
	m := r.messages[at]
	calls := callsOf(&m)
	if len(calls) == 0 {
		if !blank(m.Content.String()) {
			r.out = append(r.out, m)
		}
		return
	}
	r.pair(at, calls)
	nameCalls(&m, at, calls)
	m.ToolCalls, m.InvalidToolCalls = nil, nil
	for i := range calls {
		m.ToolCalls = append(m.ToolCalls, calls[i].call)
	}
	r.out = append(r.out, m)
	for i := range calls {
		r.out = append(r.out, r.resultOf(&calls[i]))
	}
}

// resultOf is the result of a call as it goes out.
func (r *repairer) resultOf(c *repairCall) thread.Message {
	if c.result < 0 {
		return c.standIn()
	}
	m := r.messages[c.result]
	m.ToolCallID, m.Name = c.call.ID, c.call.Name
	m.Content = resultContent(m.Content)
	return m
}

// resultContent makes plain text of a result: providers take nothing else from
// a tool, and never nothing.
func resultContent(c thread.Content) thread.Content {
	if !c.IsBlocks() {
		if blank(c.String()) {
			return thread.Text(emptyResult)
		}
		return c
	}
	var texts []string
	for _, part := range c.Parts() {
		switch {
		case part.Raw == nil || part.Text != "":
			texts = append(texts, part.Text)
		case part.Type != "":
			texts = append(texts, "["+part.Type+" not shown]")
		}
	}
	text := strings.Join(texts, "\n")
	if blank(text) {
		text = emptyResult
	}
	return thread.Text(text)
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
