package tools

import (
	"bytes"
	"context"
	_ "embed"
	"errors"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
)

//go:embed str_replace.md
var strReplaceText string

type strReplaceParams struct {
	Description string `json:"description" jsonschema:"Why you change this file, in a few words. Give this argument first."`
	Path        string `json:"path" jsonschema:"The absolute path of the file. Give this argument second."`
	OldStr      string `json:"old_str" jsonschema:"The text to replace, exactly as it stands in the file."`
	NewStr      string `json:"new_str" jsonschema:"The text to put in its place; empty deletes it."`
	ReplaceAll  bool   `json:"replace_all,omitempty" jsonschema:"true replaces every occurrence."`
}

func strReplace() (Tool, error) {
	return definition[strReplaceParams]{
		name: "str_replace", description: strReplaceText, class: agent.ClassWrite, key: agent.KeyAll, writes: "path",
		labelled: true, run: runStrReplace,
	}.build()
}

func runStrReplace(ctx context.Context, c Call, p strReplaceParams) (Result, error) {
	if c.Env.Sandbox == nil {
		return needsSandbox(), nil
	}
	if p.OldStr == "" { // nothing to replace is no fault
		_, err := c.Env.Sandbox.Stat(ctx, p.Path)
		return writeAnswer(ctx, "str_replace", p.Path, err)
	}
	count := 0
	_, err := c.Env.Sandbox.Edit(ctx, p.Path, func(old []byte) ([]byte, error) {
		from, to := []byte(p.OldStr), []byte(p.NewStr)
		if onlyCRLF(old) { // a model reads and writes \n
			from, to = crlf(from), crlf(to)
		}
		count = bytes.Count(old, from)
		switch {
		case count == 0:
			return nil, errNoMatch
		case count > 1 && !p.ReplaceAll:
			return nil, errManyMatches
		}
		return bytes.ReplaceAll(old, from, to), nil
	}, sandbox.WriteOptions{Key: c.Env.MessageID, Check: c.Env.readGate(ctx, p.Path)})
	switch {
	case errors.Is(err, errNoMatch):
		return failure("String to replace not found in file: %s", p.Path), nil
	case errors.Is(err, errManyMatches):
		return failure("String to replace appears %d times in file: %s. Nothing was changed. Make old_str longer so that it is unique, or set replace_all.", count, p.Path), nil
	}
	return writeAnswer(ctx, "str_replace", p.Path, err)
}

var (
	errNoMatch     = errors.New("no match")
	errManyMatches = errors.New("several matches")
)

// onlyCRLF reports whether every line of a text ends as on Windows.
func onlyCRLF(b []byte) bool {
	n := bytes.Count(b, []byte("\n"))
	return n > 0 && bytes.Count(b, []byte("\r\n")) == n
}

func crlf(b []byte) []byte {
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
}
