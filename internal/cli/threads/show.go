package threads

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/cli/conversation"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// Shown is one thread, as JSON shows it.
type Shown struct {
	Item
	Error       string             `json:"error,omitempty"` // why its last run failed
	Questions   []thread.Interrupt `json:"questions"`       // open ones
	Files       []string           `json:"files"`           // that the agent presented: virtual paths
	Messages    []thread.Message   `json:"messages"`
	Runs        []client.Run       `json:"runs"` // newest first
	TotalTokens int                `json:"total_tokens"`
	Temporal    string             `json:"temporal,omitempty"` // its page in the Temporal Web UI
	Sources     []client.Source    `json:"sources,omitempty"`  // pages that tools have fetched and found; only when asked for
}

// ShowOptions say what is shown of a thread.
type ShowOptions struct {
	Format  cli.Format
	Sources bool // the pages that its tools have fetched and found, too
}

// Show writes a thread: what was said and done, what it waits for, and where its files are.
func (s *Session) Show(ctx context.Context, id string, o ShowOptions) error {
	v, err := s.read(ctx, id)
	if err != nil {
		return err
	}
	if o.Sources {
		if v.Sources, err = s.client.Sources(ctx, v.ThreadID); err != nil {
			return conversation.Classify(err)
		}
	}
	if o.Format != "" && o.Format != cli.FormatText {
		return o.Format.WriteJSON(s.o.Out, v)
	}
	text := s.page(&v)
	if o.Sources {
		var b strings.Builder
		s.writeSources(&b, v.Sources)
		text += b.String()
	}
	if s.o.OutIsTTY {
		text = cli.CleanLines(text)
	}
	if _, err := io.WriteString(s.o.Out, text); err != nil {
		return fmt.Errorf("writing thread %s: %w", v.ThreadID, err)
	}
	return nil
}

func (s *Session) read(ctx context.Context, id string) (Shown, error) {
	t, err := s.Find(ctx, id)
	if err != nil {
		return Shown{}, err
	}
	runs, err := s.client.ListRuns(ctx, t.ID)
	if err != nil {
		return Shown{}, conversation.Classify(err)
	}
	v := Shown{
		Item: itemOf(&t), Error: t.Error, Questions: t.Questions(), Files: t.Values.Artifacts, Messages: t.Values.Messages,
		Runs: runs, Temporal: s.server.WorkflowLink(ctx, t.ID),
	}
	for i := range runs {
		v.TotalTokens += runs[i].TotalTokens
	}
	if v.Questions == nil {
		v.Questions = []thread.Interrupt{}
	}
	if v.Files == nil {
		v.Files = []string{}
	}
	if v.Messages == nil {
		v.Messages = []thread.Message{}
	}
	return v, nil
}

// page is a thread as a person reads it on a terminal.
func (s *Session) page(v *Shown) string {
	var b strings.Builder
	head := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-8s  %s\n", name, text)
		}
	}
	head("title", v.Title)
	head("thread", v.ThreadID)
	head("status", v.StatusText)
	head("error", cli.Clean(v.Error))
	head("created", s.moment(v.CreatedAt))
	head("updated", s.moment(v.UpdatedAt))
	head("runs", fmt.Sprintf("%d · %d tokens", len(v.Runs), v.TotalTokens))
	head("temporal", v.Temporal)
	entries := transcriptOf(v.Messages)
	for len(v.Questions) > 0 && len(entries) > 0 && entries[len(entries)-1].kind == asked {
		entries = entries[:len(entries)-1] // what is open stands below
	}
	for i := range entries {
		writeEntry(&b, &entries[i])
	}
	if len(v.Questions) > 0 {
		b.WriteString("\nWaiting for your answer:\n")
		for i := range v.Questions {
			writeCard(&b, &v.Questions[i].Value)
		}
		fmt.Fprintf(&b, "\nAnswer with: %s threads reply %s \"...\"\n", s.program(), v.ThreadID)
	}
	if len(v.Files) > 0 {
		b.WriteString("\nFiles:\n")
		for _, file := range v.Files {
			fmt.Fprintf(&b, "  %s\n", file)
		}
	}
	writeCitations(&b, v.Runs)
	return b.String()
}

func (s *Session) moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s (%s)", t.Local().Format("2006-01-02 15:04:05"), ago(age(s.o.Now(), t)))
}

func ago(age string) string {
	switch {
	case age == "now":
		return "just now"
	case strings.HasSuffix(age, "m"), strings.HasSuffix(age, "h"), strings.HasSuffix(age, "d"):
		return age + " ago"
	}
	return age
}

// maxLine bounds, in columns, what is told of a tool call.
const maxLine = 160

func writeEntry(b *strings.Builder, e *entry) {
	switch e.kind {
	case said:
		fmt.Fprintf(b, "\nYou:\n%s\n", indent(e.text))
		if len(e.files) > 0 {
			fmt.Fprintf(b, "  [%s]\n", strings.Join(e.files, ", "))
		}
	case answered:
		fmt.Fprintf(b, "\nDeerFlow:\n%s\n", indent(e.text))
	case called:
		fmt.Fprintf(b, "  %s %s\n", mark(e), cli.Cut(cli.Clean(callLine(e)), maxLine))
	case asked:
		fmt.Fprintf(b, "\n? %s\n", e.text)
		for i, option := range e.options {
			fmt.Fprintf(b, "  %d. %s\n", i+1, cli.Clean(option))
		}
	case replied:
		fmt.Fprintf(b, "\nYour answer:\n%s\n", indent(e.text))
	}
}

func mark(e *entry) string {
	switch {
	case e.failed:
		return string(cli.MarkFail)
	case e.open:
		return string(cli.MarkStart)
	}
	return string(cli.MarkDone)
}

func callLine(e *entry) string {
	if e.result != "" {
		return e.text + ": " + e.result
	}
	return e.text
}

func writeCard(b *strings.Builder, card *thread.Card) {
	fmt.Fprintf(b, "? %s\n", strings.TrimSpace(card.Question))
	for i, option := range card.Options {
		fmt.Fprintf(b, "  %d. %s\n", i+1, cli.Clean(option.Label))
	}
	for _, field := range card.Fields {
		fmt.Fprintf(b, "  - %s\n", cli.Clean(field.Label))
	}
}

func indent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		if lines[i] != "" {
			lines[i] = "  " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}
