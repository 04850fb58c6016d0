package thread

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Content is the body of a message: plain text, or a list of blocks. The JSON
// is a string or an array accordingly; null reads as empty text.
type Content struct {
	text   string
	blocks []Block
}

// Block is one part of a message with several parts. Text is set when Type is
// "text"; every other kind is kept as it came in Raw.
type Block struct {
	Type string
	Text string
	Raw  json.RawMessage
}

// Text is content that is one plain text.
func Text(s string) Content { return Content{text: s} }

// Blocks is content with several parts; none at all is the empty text.
func Blocks(parts ...Block) Content {
	if len(parts) == 0 {
		return Content{}
	}
	return Content{blocks: parts}
}

// IsBlocks reports whether the content is a list.
func (c Content) IsBlocks() bool { return c.blocks != nil }

// Parts is the list of blocks; plain text is one text block, empty text none.
func (c Content) Parts() []Block {
	if c.blocks != nil {
		return c.blocks
	}
	if c.text == "" {
		return nil
	}
	return []Block{{Type: "text", Text: c.text}}
}

// String is the visible text: the plain text, or the text blocks joined by
// newlines. Thinking blocks and images have none.
func (c Content) String() string {
	if c.blocks == nil {
		return c.text
	}
	var texts []string
	for _, b := range c.blocks {
		if b.Type == "text" || b.Type == "output_text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Append adds text after a blank line: to the plain text, or as one more text
// block that begins with the blank line.
func (c Content) Append(text string) Content {
	if c.blocks != nil {
		parts := append(append([]Block{}, c.blocks...), Block{Type: "text", Text: "\n\n" + text})
		return Content{blocks: parts}
	}
	if c.text == "" {
		return Content{text: text}
	}
	return Content{text: c.text + "\n\n" + text}
}

// MarshalJSON writes a string or an array of blocks.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.blocks == nil {
		return json.Marshal(c.text)
	}
	return json.Marshal(c.blocks)
}

// UnmarshalJSON reads a string, null, one block, or an array whose items are
// blocks or bare strings.
func (c *Content) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	*c = Content{}
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return nil
	}
	switch data[0] {
	case '"':
		return json.Unmarshal(data, &c.text)
	case '[':
		c.blocks = []Block{}
		return json.Unmarshal(data, &c.blocks)
	case '{':
		var b Block
		if err := json.Unmarshal(data, &b); err != nil {
			return err
		}
		c.blocks = []Block{b}
		return nil
	}
	return fmt.Errorf("message content must be a string or a list of blocks, got %.40s", data)
}

// MarshalJSON writes the block as it came, or a text block.
func (b Block) MarshalJSON() ([]byte, error) {
	if b.Raw != nil {
		return b.Raw, nil
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{b.Type, b.Text})
}

// UnmarshalJSON reads a block object or a bare string; null is an empty text. A
// block that is no text may have anything under its other keys.
func (b *Block) UnmarshalJSON(data []byte) error {
	*b = Block{Type: "text"}
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &b.Text)
	}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var head struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("content block: %w", err)
	}
	b.Type = head.Type
	if b.Type != "text" {
		b.Raw = append(json.RawMessage(nil), data...)
	}
	if len(head.Text) == 0 {
		return nil
	}
	if err := json.Unmarshal(head.Text, &b.Text); err != nil && b.Type == "text" {
		return fmt.Errorf("content block: its text must be a string, got %.40s", head.Text)
	}
	return nil
}
