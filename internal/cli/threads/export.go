package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/cli/conversation"
	"deerflow/internal/client"
)

// The formats of the export of a whole thread.
const (
	ExportMarkdown = "md"
	ExportJSON     = "json"
)

// ExportOptions say how a thread is exported.
type ExportOptions struct {
	Format string // ExportMarkdown or ExportJSON; of a report also ExportHTML or ExportPDF
	File   string // to be written, or written over; empty or "-": standard output
	// Report is the last answer instead of the whole thread; so is every format that is none of a thread.
	Report bool
	// Path is a Markdown file instead of the last answer: its virtual path, or that below the outputs.
	Path string
}

// isReport reports whether a report is meant, not the whole thread.
func (o *ExportOptions) isReport() (bool, error) {
	asked := o.Report || o.Path != ""
	switch o.Format {
	case ExportHTML, ExportPDF:
		return true, nil
	case ExportMarkdown:
		return asked, nil
	case ExportJSON:
		if asked {
			return false, cli.Exitf(cli.ExitUsage, "--format json is that of a whole thread, not of a report")
		}
		return false, nil
	}
	return false, cli.Exitf(cli.ExitUsage, "--format %q: use %s, %s, %s or %s", o.Format, ExportMarkdown, ExportJSON, ExportHTML, ExportPDF)
}

// Export writes a whole thread: as Markdown for people, or as JSON with everything that the server says of it. A report
// it writes as a document, with what its citations rest on.
func (s *Session) Export(ctx context.Context, id string, o ExportOptions) error {
	isReport, err := o.isReport()
	if err != nil {
		return err
	}
	if isReport {
		return s.exportReport(ctx, id, o)
	}
	v, err := s.read(ctx, id)
	if err != nil {
		return err
	}
	data := []byte(markdown(&v))
	if o.Format == ExportJSON {
		if data, err = s.exportJSON(ctx, v.ThreadID); err != nil {
			return conversation.Classify(err)
		}
	}
	if o.File == "" || o.File == "-" {
		_, err = s.o.Out.Write(data)
		if err != nil {
			return fmt.Errorf("writing the export: %w", err)
		}
		return nil
	}
	if err := os.WriteFile(o.File, data, 0o600); err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	s.note("Thread %s: %d messages written to %s", v.ThreadID, len(v.Messages), o.File)
	return nil
}

// exported is an export as JSON.
type exported struct {
	Format string          `json:"format"` // deerflow-thread/1
	Thread json.RawMessage `json:"thread"`
	Runs   json.RawMessage `json:"runs"`
}

func (s *Session) exportJSON(ctx context.Context, id string) ([]byte, error) {
	e := exported{Format: "deerflow-thread/1"}
	var err error
	if e.Thread, err = s.client.RawThread(ctx, id); err != nil {
		return nil, err
	}
	if e.Runs, err = s.client.RawRuns(ctx, id); err != nil {
		return nil, err
	}
	var text strings.Builder
	f := cli.FormatJSON
	if err := f.WriteJSON(&text, e); err != nil {
		return nil, err
	}
	return []byte(text.String()), nil
}

// markdown is a thread as a document.
func markdown(v *Shown) string {
	var b strings.Builder
	title := v.Title
	if title == "" {
		title = "Thread " + v.ThreadID
	}
	fmt.Fprintf(&b, "# %s\n\nDeerFlow thread `%s` · %s · %d tokens", cli.Cut(title, maxTitle), v.ThreadID, v.StatusText, v.TotalTokens)
	if !v.UpdatedAt.IsZero() {
		b.WriteString(" · " + v.UpdatedAt.UTC().Format(time.RFC3339))
	}
	b.WriteString("\n")
	inList := false
	for _, e := range transcriptOf(v.Messages) {
		if e.kind == called && !inList {
			b.WriteString("\n")
		}
		inList = e.kind == called
		writeMarkdown(&b, &e)
	}
	if len(v.Questions) > 0 {
		b.WriteString("\n*The question is open.*\n")
	}
	if len(v.Files) > 0 {
		b.WriteString("\n## Files\n\n")
		for _, file := range v.Files {
			fmt.Fprintf(&b, "- `%s`\n", file)
		}
	}
	return b.String()
}

func writeMarkdown(b *strings.Builder, e *entry) {
	switch e.kind {
	case said:
		fmt.Fprintf(b, "\n## You\n\n%s\n", e.text)
		for i, file := range e.files {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(b, "- file: `%s`\n", file)
		}
	case answered:
		fmt.Fprintf(b, "\n## DeerFlow\n\n%s\n", e.text)
	case called:
		fmt.Fprintf(b, "- %s `%s`\n", mark(e), strings.ReplaceAll(cli.Cut(cli.Clean(callLine(e)), maxLine), "`", "'"))
	case asked:
		fmt.Fprintf(b, "\n## DeerFlow asks\n\n%s\n", e.text)
		for i, option := range e.options {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(b, "%d. %s\n", i+1, cli.Clean(option))
		}
	case replied:
		fmt.Fprintf(b, "\n## You answer\n\n%s\n", e.text)
	}
}

func isGone(err error) bool { return errors.Is(err, client.ErrNotFound) }
