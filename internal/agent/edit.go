package agent

import (
	"fmt"
	"slices"
	"unicode/utf8"

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
	EditCut    EditOp = "cut"    // keep the first Keep bytes of the named message's text, Text, then its last KeepTail bytes; a shorter one stays
	// EditGuard marks what users say as such: framework tags in it are escaped,
	// and it stands between boundary lines. It means every message of a user, and
	// cuts longer ones to Keep characters (0: as they are).
	EditGuard EditOp = "guard"
	// EditContext repeats the date and the memory that message Ref tells, which may
	// be out of view, in a new message before the named one.
	EditContext EditOp = "context"
	// EditImages is a new message after all others that shows images.
	EditImages EditOp = "images"
	// EditCoalesce joins all system messages into one that stands first.
	EditCoalesce EditOp = "coalesce"
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
	// Escape, of wrap: the message's own text cannot close or open a tag.
	Escape bool `json:"escape,omitempty"`
	// KeepTail and Over are for cut: a text of at most Over characters stays.
	KeepTail int `json:"keep_tail,omitempty"`
	Over     int `json:"over,omitempty"`
	// Ref is for context.
	Ref string `json:"ref,omitempty"`
	// Images is for images.
	Images []ShownImage `json:"images,omitempty"`
}

// ShownImage is an image that one request shows.
type ShownImage struct {
	Path  string             `json:"path"` // virtual
	Image thread.ViewedImage `json:"image"`
}

// Sources are where edits that mean more than the transcript in view get it
// from.
type Sources struct {
	// Context gives the context blocks of a message, in view or not.
	Context func(messageID string) ([]thread.ContextBlock, error)
	// Image gives the content block that shows an image, or a text block that
	// says why it cannot be shown.
	Image func(path string, image thread.ViewedImage) thread.Block
}

// ApplyEdits gives the messages as the edits leave them; the input is not
// changed. An edit of a message that is not in view is skipped: it may have
// been compacted away since.
func ApplyEdits(messages []thread.Message, edits []Edit, from Sources) ([]thread.Message, error) {
	out := append([]thread.Message(nil), messages...)
	var err error
	for n := range edits {
		if out, err = edits[n].apply(out, n, from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *Edit) apply(out []thread.Message, n int, from Sources) ([]thread.Message, error) {
	switch e.Op {
	case EditAppend:
		return append(out, e.message(n)), nil
	case EditGuard:
		return e.guard(out), nil
	case EditImages:
		return append(out, e.images(n, from)), nil
	case EditCoalesce:
		return coalesce(out), nil
	case EditBefore, EditAfter, EditDrop, EditWrap, EditCut, EditContext:
	}
	at := slices.IndexFunc(out, func(m thread.Message) bool { return m.ID == e.ID })
	if at < 0 {
		return out, nil
	}
	switch e.Op {
	case EditBefore:
		return slices.Insert(slices.Clone(out), at, e.message(n)), nil
	case EditAfter:
		return slices.Insert(slices.Clone(out), at+1, e.message(n)), nil
	case EditDrop:
		return slices.Delete(slices.Clone(out), at, at+1), nil
	case EditWrap:
		text := out[at].Content.String()
		if e.Escape {
			text = Escape(text)
		}
		out[at].Content = withText(out[at].Content, e.Text+text+e.Tail)
	case EditCut:
		out[at].Content = e.cut(out[at].Content)
	case EditContext:
		return e.context(out, at, n, from)
	case EditAppend, EditGuard, EditImages, EditCoalesce:
	}
	return out, nil
}

// cut keeps the head and the tail of a text.
func (e *Edit) cut(c thread.Content) thread.Content {
	text := c.String()
	if len(text) <= e.Keep+e.KeepTail || e.Over > 0 && utf8.RuneCountInString(text) <= e.Over {
		return c
	}
	return withText(c, thread.Prefix(text, e.Keep)+e.Text+suffix(text, e.KeepTail))
}

// suffix is the end of s, at most n bytes, without splitting a character.
func suffix(s string, n int) string {
	from := len(s) - min(max(n, 0), len(s))
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
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
