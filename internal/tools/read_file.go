package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/thread"
	"deerflow/internal/uploads"
)

//go:embed read_file.md
var readFileText string

type readFileParams struct {
	Description string `json:"description" jsonschema:"Why you read this file, in a few words. Give this argument first."`
	Path        string `json:"path" jsonschema:"The absolute path of the file."`
	StartLine   *int   `json:"start_line,omitempty" jsonschema:"First line to read, from 1. Leave out to begin at the beginning."`
	EndLine     *int   `json:"end_line,omitempty" jsonschema:"Last line to read, inclusive. Leave out to read to the end."`
}

func readFile() (Tool, error) {
	return definition[readFileParams]{
		name: "read_file", description: readFileText, class: agent.ClassRead, key: agent.KeyRange,
		labelled: true, run: runReadFile,
	}.build()
}

func runReadFile(ctx context.Context, c Call, p readFileParams) (Result, error) {
	if c.Env.Sandbox == nil {
		return needsSandbox(), nil
	}
	o := sandbox.ReadOptions{MaxChars: max(c.Env.Limits.ReadChars, 0)}
	if c.Env.Limits.ReadChars < 0 {
		o.MaxChars = maxResult // what Run lets through
	}
	if p.StartLine != nil {
		o.Start = *p.StartLine
	}
	if p.EndLine != nil {
		o.End = *p.EndLine
	}
	switch {
	case p.StartLine != nil && o.Start < 1:
		return text("(start_line must be >= 1)"), nil
	case p.EndLine != nil && o.End < 1:
		return text("(end_line must be >= 1)"), nil
	case o.End > 0 && o.Start > o.End:
		return text(fmt.Sprintf("(no lines in range: start_line %d is behind end_line %d)", o.Start, o.End)), nil
	}
	got, err := c.Env.Sandbox.ReadFile(ctx, p.Path, o)
	if err != nil {
		return unreadable(ctx, c, p.Path, err)
	}
	r := text(readText(got, o))
	if got.Hash != "" {
		r.setKwarg(thread.KeyReadMark, thread.FileMark{Path: got.Path, Hash: got.Hash})
	}
	return r, nil
}

// unreadable is the answer for a file that cannot be read. That of a document
// says where its text is.
func unreadable(ctx context.Context, c Call, asked string, err error) (Result, error) {
	var binary *sandbox.BinaryError
	var at *fs.PathError
	if errors.As(err, &binary) && errors.As(err, &at) {
		if beside := textBeside(c, at.Path); beside != "" {
			return failure("%s is a binary file (%s, %d bytes), not text. What it says is in %s: read that.", at.Path, binary.Kind, binary.Size, beside), nil
		}
	}
	return fileAnswer(ctx, doingRead, asked, err)
}

// textBeside is the path of the text of an uploaded document, "" when there is
// none.
func textBeside(c Call, at string) string {
	if c.Env.Uploads == nil || path.Dir(at) != sandbox.Uploads {
		return ""
	}
	d, err := c.Env.Uploads()
	if err != nil {
		return ""
	}
	defer func() { _ = d.Close() }()
	name, err := d.Find(path.Base(at))
	if err != nil {
		return ""
	}
	text, err := d.TextOf(name)
	if err != nil || text == "" {
		return ""
	}
	return path.Join(sandbox.Uploads, uploads.Shown(text))
}

// readText is the part of the file, with a note when it is not the whole range.
func readText(got sandbox.ReadResult, o sandbox.ReadOptions) string {
	switch {
	case got.Size == 0:
		return "(empty)"
	case got.PastEnd:
		return "(start_line exceeds file length)"
	case got.Text == "":
		return "(empty lines)"
	case !got.Cut:
		return got.Text
	}
	of := fmt.Sprintf("%d characters", got.Chars)
	if got.Chars < 0 {
		of = fmt.Sprintf("a file of %d bytes", got.Size)
	}
	note := func(shown, next int) string {
		return fmt.Sprintf("\n[truncated: showing first %d of %s; read on with start_line=%d, and end_line]", shown, of, next)
	}
	room := max(o.MaxChars-len(note(o.MaxChars, max(o.Start, 1)+o.MaxChars)), 0)
	shown := thread.FirstRunes(got.Text, room)
	return shown + note(room, max(o.Start, 1)+strings.Count(shown, "\n"))
}
