package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"deerflow/internal/thread"
)

// Narrator tells the events of runs as lines of progress. It expects the stream modes messages-tuple, updates and
// custom; events that it does not know it leaves alone, so that a newer server is no problem. Not safe for concurrent
// use.
type Narrator struct {
	Progress *Progress
	// Replay leaves out how long tools took: the events may be old ones.
	Replay bool
	// Now is the clock of tool durations.
	Now func() time.Time

	partial  map[string]*partialMessage // messages that are being written, by id
	order    []string                   // their ids, oldest first
	told     map[string]bool            // ids of tool calls that have their line
	finished map[string]bool            // ids of messages that are complete
	open     []openCall                 // tool calls without a result, oldest first
	title    string
	plan     string
}

// partialMessage is an AI message as far as it has come.
type partialMessage struct {
	text  strings.Builder
	calls []*partialCall
}

// partialCall is a tool call whose arguments come in pieces.
type partialCall struct {
	index    int
	id, name string
	args     strings.Builder
}

type openCall struct {
	id, name, about string
	since           time.Time
	among           bool // others with its name ran at the same time
}

// Event takes one event of a stream. Those of sub-graphs, whose name has a namespace, are not told.
func (n *Narrator) Event(name string, data json.RawMessage) {
	switch name {
	case "metadata":
		n.Progress.Status("thinking")
	case "messages":
		n.messages(data)
	case "updates":
		n.updates(data)
	case "custom":
		n.custom(data)
	case "gap":
		n.Progress.Step(MarkWarn, "some events are not kept any more; going on with the newest", "")
	case "end":
		n.finishAll()
		n.Progress.Idle()
	}
}

// chunk is the first part of a messages event: a piece of an AI message, or a whole message.
type chunk struct {
	thread.Message
	ToolCallChunks []struct {
		Name  string `json:"name"`
		Args  string `json:"args"`
		ID    string `json:"id"`
		Index int    `json:"index"`
	} `json:"tool_call_chunks"`
	ChunkPosition string `json:"chunk_position"`
}

func (n *Narrator) messages(data json.RawMessage) {
	var parts []json.RawMessage
	if json.Unmarshal(data, &parts) != nil || len(parts) == 0 {
		return
	}
	var c chunk
	if json.Unmarshal(parts[0], &c) != nil || c.ID == "" {
		return
	}
	switch strings.ToLower(strings.TrimSuffix(string(c.Role), "MessageChunk")) {
	case "ai":
		n.aiChunk(&c)
	case "tool":
		n.finishAll()
		n.toolResult(&c.Message)
	case "remove":
		n.drop(c.ID)
	}
}

func (n *Narrator) aiChunk(c *chunk) {
	if n.finished[c.ID] {
		return
	}
	p := n.partial[c.ID]
	if p == nil {
		n.finishAll()
		p = &partialMessage{}
		if n.partial == nil {
			n.partial = map[string]*partialMessage{}
		}
		n.partial[c.ID] = p
		n.order = append(n.order, c.ID)
		n.Progress.Status("thinking")
	}
	if text := c.Content.String(); text != "" {
		if p.text.Len() == 0 {
			n.Progress.Status("writing")
		}
		p.text.WriteString(text)
		n.Progress.Text(text)
	}
	for _, piece := range c.ToolCallChunks {
		p.add(piece.Index, piece.ID, piece.Name, piece.Args)
	}
	if len(c.ToolCallChunks) == 0 {
		for i, call := range c.ToolCalls {
			p.add(i, call.ID, call.Name, string(call.Args))
		}
	}
	if c.ChunkPosition == "last" {
		n.finish(c.ID)
	}
}

func (p *partialMessage) add(index int, id, name, args string) {
	var call *partialCall
	for _, c := range p.calls {
		if c.index == index {
			call = c
		}
	}
	if call == nil {
		call = &partialCall{index: index}
		p.calls = append(p.calls, call)
	}
	if id != "" {
		call.id = id
	}
	if name != "" {
		call.name = name
	}
	call.args.WriteString(args)
}

// drop forgets what was shown of a message: its model call is made once more.
func (n *Narrator) drop(id string) {
	delete(n.finished, id)
	if n.partial[id] == nil {
		return
	}
	delete(n.partial, id)
	n.Progress.Step(MarkAgain, "what the model had written is dropped", "")
	n.Progress.Status("thinking")
}

func (n *Narrator) finishAll() {
	order := n.order
	n.order = nil
	for _, id := range order {
		n.finish(id)
	}
}

// finish tells a message that is complete. A message without tool calls is the answer, which is printed at the end.
func (n *Narrator) finish(id string) {
	p := n.partial[id]
	if p == nil {
		return
	}
	delete(n.partial, id)
	if n.finished == nil {
		n.finished = map[string]bool{}
	}
	n.finished[id] = true
	if len(p.calls) > 0 && strings.TrimSpace(p.text.String()) != "" {
		n.Progress.Step(MarkNone, p.text.String(), "")
	}
	for _, c := range p.calls {
		n.call(c.id, c.name, json.RawMessage(c.args.String()))
	}
	if len(n.open) == 0 {
		n.Progress.Status("working")
	}
}

func (n *Narrator) call(id, name string, args json.RawMessage) {
	if n.told[id] || name == "" {
		return
	}
	if n.told == nil {
		n.told = map[string]bool{}
	}
	n.told[id] = id != ""
	if name == askTool {
		return // the question is shown when the run has ended with it
	}
	c := openCall{id: id, name: name, about: About(name, args), since: n.Now()}
	for i := range n.open {
		if n.open[i].name == name {
			n.open[i].among, c.among = true, true
		}
	}
	n.open = append(n.open, c)
	n.Progress.Step(MarkStart, strings.TrimSpace(c.name+" "+c.about), "")
	n.waiting()
}

func (n *Narrator) toolResult(m *thread.Message) {
	if m.Name == askTool {
		return
	}
	for i, c := range n.open {
		if c.id == m.ToolCallID {
			n.open = append(n.open[:i:i], n.open[i+1:]...)
			n.result(c, m)
			n.waiting()
			return
		}
	}
	n.result(openCall{name: m.Name}, m)
}

func (n *Narrator) result(c openCall, m *thread.Message) {
	text := c.name
	if c.among {
		text = strings.TrimSpace(c.name + " " + c.about)
	}
	took := ""
	if !n.Replay && !c.since.IsZero() {
		took = seconds(n.Now().Sub(c.since))
	}
	if m.Status == thread.ToolError {
		n.Progress.Step(MarkFail, text, strings.TrimSpace(took+" "+m.Content.String()))
		return
	}
	if code, failed := m.AdditionalKwargs[thread.KeyExitCode].(float64); failed { // as JSON has numbers
		n.Progress.Step(MarkWarn, text, strings.TrimSpace(fmt.Sprintf("%s exit %.0f", took, code)))
		return
	}
	n.Progress.Step(MarkDone, text, took)
}

// waiting puts into the live region what runs now.
func (n *Narrator) waiting() {
	switch len(n.open) {
	case 0:
		n.Progress.Status("thinking")
	case 1:
		n.Progress.Status("%s", strings.TrimSpace(n.open[0].name+" "+n.open[0].about))
	default:
		n.Progress.Status("%d tools", len(n.open))
	}
}
