package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/synopsis"
	"deerflow/internal/thread"
)

// budget bounds the text of a result. A long one goes to a file, and a synopsis
// takes its place; if that cannot be, the middle is left out.
func (a *Activities) budget(ctx context.Context, in step.CallToolInput, rule *agent.ToolOutputRule, text string) (string, error) {
	limit := rule.ExternalizeMin
	if own, ok := rule.Overrides[in.Name]; ok {
		limit = own
	}
	if limit > 0 && utf8.RuneCountInString(text) > limit {
		file := resultFile(rule.Subdir, in.Name, text)
		err := a.writeResult(ctx, in, file, text)
		if err == nil {
			return synopsis.Of(text, synopsis.Options{
				Tool: in.Name, Path: file, Head: rule.PreviewHead, Tail: rule.PreviewTail, Max: rule.FallbackMax,
			}), nil
		}
		if ctx.Err() != nil {
			return "", err
		}
		a.o.Logger.Warn("A long result could not be written to a file; its middle is left out", "thread", in.Thread, "tool", in.Name, "error", err)
	}
	return synopsis.Clip(text, in.Name, synopsis.Limits{Max: rule.FallbackMax, Head: rule.FallbackHead, Tail: rule.FallbackTail}), nil
}

// writeResult writes a text into the sandbox of the thread, and makes sure that it
// arrived.
func (a *Activities) writeResult(ctx context.Context, in step.CallToolInput, file, text string) error {
	box, err := a.o.Sandboxes.Acquire(ctx, in.User, in.Thread)
	if err != nil {
		return fmt.Errorf("get the sandbox of thread %s: %w", in.Thread, err)
	}
	if _, err := box.WriteFile(ctx, file, strings.NewReader(text), sandbox.WriteOptions{}); err != nil {
		return err
	}
	info, err := box.Stat(ctx, file)
	if err != nil {
		return err
	}
	if info.Size != int64(len(text)) {
		return fmt.Errorf("%s has %d bytes, %d were written", file, info.Size, len(text))
	}
	return nil
}

// unsafeName are the characters that the name of a result's file does not have.
var unsafeName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// resultFile names the file of a result by its content, so that a second attempt
// writes the same one.
func resultFile(subdir, tool, text string) string {
	name := strings.Trim(unsafeName.ReplaceAllString(tool, "_"), "_")
	if name == "" {
		name = "unknown"
	}
	suffix := "txt"
	switch tool {
	case "bash", "bash_tool", "web_fetch":
		suffix = "log"
	}
	sum := sha256.Sum256([]byte(text))
	return path.Join(sandbox.Outputs, subdir, fmt.Sprintf("%s-%s.%s", thread.Prefix(name, 64), hex.EncodeToString(sum[:6]), suffix))
}
