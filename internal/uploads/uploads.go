package uploads

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"deerflow/internal/thread"
)

// File is a file that came with a message and is there.
type File struct {
	Name    string
	Path    string // virtual
	Size    int64  // bytes
	Text    string // virtual path of its text, when it was converted
	NoText  string // why it has none, when it is a document
	Outline Outline
}

// Named is a file as a message names it. It may not exist.
type Named struct {
	Name   string
	Text   string // name of its text, "" when the message does not say
	Status string
}

// In are the files that the kwargs of a message name (spec 4.5): plain names, each
// once. What is no file of the upload directory is left out, a path or an upload
// that is still on its way.
func In(m *thread.Message) []Named {
	data, err := json.Marshal(m.AdditionalKwargs[thread.KeyFiles])
	if err != nil {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		return nil
	}
	var files []Named
	for _, item := range items {
		var f map[string]any
		if json.Unmarshal(item, &f) != nil {
			continue
		}
		name, _ := f["filename"].(string)
		text, _ := f["markdown_file"].(string)
		status, _ := f["status"].(string)
		if !Plain(name) || slices.ContainsFunc(files, func(g Named) bool { return g.Name == name }) {
			continue
		}
		if !Plain(text) {
			text = ""
		}
		files = append(files, Named{Name: name, Text: text, Status: thread.Prefix(status, 40)})
	}
	return files
}

// Plain reports whether a name is that of a file in the upload directory itself:
// no path, and not the name of an upload that is still being written.
func Plain(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > maxName || strings.ContainsAny(name, "/\\\x00") {
		return false
	}
	return !isStaging(name)
}

// documents are the kinds of files that are converted to text.
var documents = []string{".pdf", ".ppt", ".pptx", ".xls", ".xlsx", ".doc", ".docx"}

// Convertible reports whether a file of that name is a document that can be
// converted to text.
func Convertible(name string) bool {
	return slices.Contains(documents, strings.ToLower(path.Ext(name)))
}
