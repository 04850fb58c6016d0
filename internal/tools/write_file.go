package tools

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
)

//go:embed write_file.md
var writeFileText string

type writeFileParams struct {
	Description string `json:"description" jsonschema:"Why you write this file, in a few words. Give this argument first."`
	Path        string `json:"path" jsonschema:"The absolute path of the file. Give this argument second."`
	Content     string `json:"content" jsonschema:"The text to write. Give this argument third."`
	Append      bool   `json:"append,omitempty" jsonschema:"true adds the content at the end of the file instead of replacing the file. Use it to write a long text in sections."`
}

func writeFile() (Tool, error) {
	return definition[writeFileParams]{
		name: "write_file", description: writeFileText, class: agent.ClassWrite, key: agent.KeyAll, writes: "path",
		labelled: true, run: runWriteFile,
	}.build()
}

func runWriteFile(ctx context.Context, c Call, p writeFileParams) (Result, error) {
	if c.Env.Sandbox == nil {
		return needsSandbox(), nil
	}
	if limit := c.Env.Limits.WriteBytes; !p.Append && limit > 0 && len(p.Content) > limit {
		return failure("The content has %d bytes, one write takes at most %d; nothing was written. "+
			"Write it in sections: the first with write_file, each further one with write_file and append=true, or change the file with str_replace.",
			len(p.Content), limit), nil
	}
	_, err := c.Env.Sandbox.WriteFile(ctx, p.Path, strings.NewReader(p.Content), sandbox.WriteOptions{
		Append: p.Append, Key: c.Env.MessageID, Check: c.Env.readGate(ctx, p.Path),
	})
	return writeAnswer(ctx, "write_file", p.Path, err)
}

// errUnread refuses the change of a file that the model has not seen as it is.
var errUnread = errors.New("not read as it is now")

// readGate lets a file that exists be changed only as the model last read it. It
// is asked under the lock of the file, so that of two changes after one read the
// second is refused. A file that cannot be read as text, or is so large that it
// has no mark, is let through: nobody could ever read it.
func (e Env) readGate(ctx context.Context, asked string) func(hash string) error {
	if !e.CheckRead {
		return nil
	}
	return func(hash string) error {
		if e.Seen == hash {
			return nil
		}
		got, err := e.Sandbox.ReadFile(ctx, asked, sandbox.ReadOptions{End: 1, MaxChars: 1})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || got.Hash == "" {
			return nil //nolint:nilerr // what cannot be read needs no reading
		}
		return errUnread
	}
}

// writeAnswer is the result of write_file and str_replace.
func writeAnswer(ctx context.Context, tool, asked string, err error) (Result, error) {
	switch {
	case err == nil:
		return text("OK"), nil
	case errors.Is(err, errUnread):
		return failure("%s: %s has not been read since it last changed, nothing was written. Read it with read_file (a range is enough), then try again.", tool, asked), nil
	}
	return fileAnswer(ctx, doingWrite, asked, err)
}
