package agent

import (
	"fmt"

	"deerflow/internal/thread"
)

// images is a hidden message that shows images: each with a line that names it.
func (e *Edit) images(n int, from Sources) thread.Message {
	parts := []thread.Block{{Type: "text", Text: "The images that you asked to see:"}}
	for _, shown := range e.Images {
		parts = append(parts, thread.Block{Type: "text", Text: fmt.Sprintf("**%s** (%s)", Neutralize(shown.Path), shown.Image.MimeType)})
		if from.Image != nil {
			parts = append(parts, from.Image(shown.Path, shown.Image))
		}
	}
	m := e.message(n)
	m.Role, m.Content = thread.RoleHuman, thread.Blocks(parts...)
	return m
}
