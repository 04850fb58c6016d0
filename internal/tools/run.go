package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"deerflow/internal/thread"
)

// Bounds of what leaves a tool, whatever its own limits are.
const (
	maxResult = 256 << 10 // bytes of text unless more is asked for, and of an artifact; JSON may write each as six
	maxDetail = 500       // characters of what a panic says
)

// errNoArtifact is why a result with an oversized artifact is refused.
var errNoArtifact = errors.New("the artifact of the result is too large")

// Run runs a tool. A panic becomes an error result with its first line and no
// stack (B10). The result has text, valid UTF-8 without NUL characters that is
// at most [Limits].ResultBytes long, and its [Meta] under [KeyMeta] unless it is a question.
// The error is the tool's, see [Tool].
func Run(ctx context.Context, t Tool, c Call) (r Result, err error) {
	name := t.Spec().Name
	source := SourceToolReturn
	defer func() {
		if v := recover(); v != nil {
			r, err, source = panicResult(name, c.Env, v), nil, SourceException
		}
		if err == nil || r.Text != "" {
			r = finish(name, source, r, c.Env.Limits.resultBytes())
		}
	}()
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("tool %s was not started: %w", name, err)
	}
	return t.Call(ctx, c)
}

func panicResult(name string, env Env, v any) Result {
	detail := firstLine(fmt.Sprint(v))
	if env.Sandbox != nil {
		detail = env.Sandbox.Mask(detail)
	}
	kind := "panic"
	if _, ok := v.(error); ok {
		kind = strings.TrimPrefix(fmt.Sprintf("%T", v), "*")
	}
	return Result{Error: true, Text: exceptionText(name, kind, detail)}
}

// exceptionText is the text of a tool that failed in a way nobody foresaw.
func exceptionText(name, kind, detail string) string {
	what := kind
	if detail != "" {
		what += ": " + thread.Shorten(detail, maxDetail)
	}
	return fmt.Sprintf("Error: Tool '%s' failed with %s. Go on with what you know, or use another tool.", name, what)
}

// finish brings a result within its bounds.
func finish(name, source string, r Result, limit int) Result {
	r.Text = strings.ReplaceAll(strings.ToValidUTF8(r.Text, "\uFFFD"), "\x00", "\uFFFD")
	if strings.TrimSpace(r.Text) == "" {
		r.Text = "(no output)"
	}
	if len(r.Text) > limit {
		marker := fmt.Sprintf("\n[truncated: the result was longer than %d KiB]", limit>>10)
		r.Text = thread.Prefix(r.Text, limit-len(marker)) + marker
	}
	if len(r.Artifact) > maxResult {
		r = failure("Tool '%s' failed: %v", name, errNoArtifact)
	}
	r.Stamp(name, source)
	return r
}

// Stamp gives a result its [Meta], unless it has one or is a question. Results
// that no tool made, such as refusals, are stamped by whoever makes them.
func (r *Result) Stamp(tool, source string) {
	if r.Interrupt == nil && r.Kwargs[KeyMeta] == nil {
		r.setKwarg(KeyMeta, Classify(tool, source, *r))
	}
}
