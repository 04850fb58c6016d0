package agent

import (
	"fmt"

	"deerflow/internal/thread"
)

// EditOp is a kind of edit of a model request.
type EditOp string

// The operations. All but append name a message in view.
const (
	EditAppend EditOp = "append" // a new message after all others
	EditBefore EditOp = "before" // a new message before the named one
	EditAfter  EditOp = "after"  // a new message after the named one
	EditDrop   EditOp = "drop"   // leave the named message out
	EditWrap   EditOp = "wrap"   // put Text before and Tail after the named message's text
	EditCut    EditOp = "cut"    // keep the first Keep bytes of the named message's text, then Text; a shorter one stays
)

// Edit changes the copy of the transcript that one model call sends. It is data
// and never stored: the workflow holds no bodies, so the model activity applies
// the edits, in order, to the rows it has read. Edits are collected once per
// call, so a retry cannot lose one.
type Edit struct {
	Op   EditOp      `json:"op"`
	ID   string      `json:"id,omitempty"`   // of the message that is meant
	Role thread.Role `json:"role,omitempty"` // of a new message
	Name string      `json:"name,omitempty"` // of a new message
	Call string      `json:"call,omitempty"` // the tool call that a new tool message answers
	Text string      `json:"text,omitempty"`
	Tail string      `json:"tail,omitempty"`
	Keep int         `json:"keep,omitempty"`
}

// ApplyEdits gives the messages as the edits leave them; the input is not
// changed. An edit of a message that is not in view is skipped: it may have
// been compacted away since.
func ApplyEdits(messages []thread.Message, edits []Edit) []thread.Message {
	out := append([]thread.Message(nil), messages...)
	for n, e := range edits {
		switch e.Op {
		case EditAppend:
			out = append(out, e.message(n))
			continue
		case EditBefore, EditAfter, EditDrop, EditWrap, EditCut:
		}
		at := -1
		for i := range out {
			if out[i].ID == e.ID {
				at = i
				break
			}
		}
		if at < 0 {
			continue
		}
		switch e.Op {
		case EditBefore:
			out = insert(out, at, e.message(n))
		case EditAfter:
			out = insert(out, at+1, e.message(n))
		case EditDrop:
			out = append(out[:at:at], out[at+1:]...)
		case EditWrap:
			out[at].Content = withText(out[at].Content, e.Text+out[at].Content.String()+e.Tail)
		case EditCut:
			text := out[at].Content.String()
			if len(text) > e.Keep {
				out[at].Content = withText(out[at].Content, thread.Prefix(text, e.Keep)+e.Text)
			}
		case EditAppend:
		}
	}
	return out
}

// withText is the content with another text: it stands where the first text
// block stood, and everything that is no text stays, an image for one.
func withText(c thread.Content, text string) thread.Content {
	if !c.IsBlocks() {
		return thread.Text(text)
	}
	block, placed := thread.Block{Type: "text", Text: text}, false
	var parts []thread.Block
	for _, b := range c.Parts() {
		switch {
		case b.Type != "text" && b.Type != "output_text":
			parts = append(parts, b)
		case !placed:
			parts, placed = append(parts, block), true
		}
	}
	if !placed && text != "" {
		parts = append(parts, block)
	}
	return thread.Blocks(parts...)
}

func (e Edit) message(n int) thread.Message {
	m := thread.Message{ID: fmt.Sprintf("edit-%d", n), Role: e.Role, Name: e.Name, Content: thread.Text(e.Text)}
	if e.Role == thread.RoleTool {
		m.ToolCallID, m.Status = e.Call, thread.ToolError
	}
	m.SetKwarg(thread.KeyHidden, true)
	return m
}

func insert(list []thread.Message, at int, m thread.Message) []thread.Message {
	out := make([]thread.Message, 0, len(list)+1)
	out = append(out, list[:at]...)
	out = append(out, m)
	return append(out, list[at:]...)
}
