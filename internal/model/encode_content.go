package model

import (
	"encoding/json"
	"strings"

	"deerflow/internal/thread"
)

// userContent is a user's content: a text, or a list when it has more than text.
func userContent(c thread.Content) any {
	if !c.IsBlocks() {
		return c.String()
	}
	var parts []any
	var texts []string
	for _, b := range c.Parts() {
		part := userPart(b)
		if t, ok := part.(textPart); ok {
			texts = append(texts, t.Text)
		}
		parts = append(parts, part)
	}
	if len(texts) == len(parts) {
		return strings.Join(texts, "\n")
	}
	return parts
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type imagePart struct {
	Type     string   `json:"type"`
	ImageURL imageURL `json:"image_url"`
}

type imageURL struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

// userPart is one part. Kinds that chat completions do not have are named
// instead of sent.
func userPart(b thread.Block) any {
	switch {
	case b.Raw == nil, b.Type == "output_text":
		return textPart{"text", b.Text}
	case b.Type == "image_url", b.Type == "image":
		if url, detail := imageSource(b.Raw); url != "" {
			return imagePart{"image_url", imageURL{url, detail}}
		}
	case b.Type == "input_audio", b.Type == "file", b.Type == "video_url":
		return b.Raw
	}
	kind := b.Type
	if kind == "" {
		kind = "part"
	}
	return textPart{"text", "[" + kind + " not shown]"}
}

// imageSource finds the image of a block: a URL as text or object, or bytes in
// base64 with their type.
func imageSource(raw json.RawMessage) (url, detail string) {
	var block struct {
		ImageURL json.RawMessage `json:"image_url"`
		URL      string          `json:"url"`
		Base64   string          `json:"base64"`
		Data     string          `json:"data"`
		MimeType string          `json:"mime_type"`
	}
	if json.Unmarshal(raw, &block) != nil {
		return "", ""
	}
	var text string
	if json.Unmarshal(block.ImageURL, &text) == nil && text != "" {
		return text, ""
	}
	if source, ok := object[imageURL](block.ImageURL); ok {
		return source.URL, source.Detail
	}
	if block.URL != "" {
		return block.URL, ""
	}
	if data := firstOf(block.Base64, block.Data); data != "" && block.MimeType != "" {
		return "data:" + block.MimeType + ";base64," + data, ""
	}
	return "", ""
}
