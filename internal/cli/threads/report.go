package threads

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"deerflow/internal/cli"
	"deerflow/internal/cli/conversation"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// The formats of a report beside Markdown.
const (
	ExportHTML = "html"
	ExportPDF  = "pdf"
)

// exportReport writes the last answer of a thread, or one of its files, as a document.
func (s *Session) exportReport(ctx context.Context, id string, o ExportOptions) error {
	toOut := o.File == "" || o.File == "-"
	if o.Format == ExportPDF && toOut && s.o.OutIsTTY {
		return cli.Exitf(cli.ExitUsage, "a PDF is nothing for a terminal: name a file with -O")
	}
	t, err := s.Find(ctx, id)
	if err != nil {
		return err
	}
	r, err := s.client.ExportReport(ctx, t.ID, o.Format, virtualOutput(o.Path))
	if err != nil {
		return conversation.Classify(err)
	}
	defer func() { _ = r.Close() }()
	if toOut {
		if _, err := io.Copy(s.o.Out, r); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	} else if err := writeReport(o.File, r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	} else {
		s.note("The report of thread %s was written to %s", t.ID, o.File)
	}
	if r.Missing > 0 {
		what := "1 character cannot be shown with the fonts of the server, a box stands for it"
		if r.Missing > 1 {
			what = fmt.Sprintf("%d characters cannot be shown with the fonts of the server, boxes stand for them", r.Missing)
		}
		s.note("%s: use --format html, or name fonts in its configuration (export.pdf_fonts)", what)
	}
	return nil
}

// virtualOutput is the virtual path of a file that is named by it, or by its place
// below the outputs.
func virtualOutput(path string) string {
	if path == "" || strings.HasPrefix(path, "/") {
		return path
	}
	return thread.Outputs + "/" + path
}

// writeReport writes a file only when the whole report has come.
func writeReport(file string, r io.Reader) error {
	part, err := os.CreateTemp(filepath.Dir(file), ".report-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(part.Name()) }() // it is gone when all went well
	_, err = io.Copy(part, r)
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(part.Name(), file)
}

// Source writes the text that the server keeps of a page, which its hash or the
// beginning of it names.
func (s *Session) Source(ctx context.Context, id, hash string) error {
	t, err := s.Find(ctx, id)
	if err != nil {
		return err
	}
	r, err := s.client.SourceText(ctx, t.ID, strings.ToLower(strings.TrimSpace(hash)))
	if err != nil {
		return conversation.Classify(err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("reading source %s: %w", hash, err)
	}
	text := string(data)
	if s.o.OutIsTTY {
		text = cli.CleanLines(text)
	}
	if !strings.HasSuffix(text, "\n") && s.o.OutIsTTY {
		text += "\n"
	}
	if _, err := io.WriteString(s.o.Out, text); err != nil {
		return fmt.Errorf("writing source %s: %w", hash, err)
	}
	return nil
}

// writeSources lists the pages of a thread.
func (s *Session) writeSources(b *strings.Builder, sources []client.Source) {
	if len(sources) == 0 {
		b.WriteString("\nSources: none\n")
		return
	}
	b.WriteString("\nSources:\n")
	for i := range sources {
		source := &sources[i]
		mark, how := " ", "found"
		if source.Kind == "fetch" {
			how = "read"
		}
		if source.Cited {
			mark = "*"
		}
		fmt.Fprintf(b, "%s %-5s  %s  %s\n", mark, how, source.FetchedAt.Local().Format("2006-01-02 15:04"), cli.Clean(source.URL))
		if source.FinalURL != "" {
			fmt.Fprintf(b, "           led to %s\n", cli.Clean(source.FinalURL))
		}
		if title := cli.Cut(cli.Clean(source.Title), maxLine); title != "" {
			fmt.Fprintf(b, "           %s\n", title)
		}
		if source.Hash != "" {
			fmt.Fprintf(b, "           text %.12s, %d bytes, run %s\n", source.Hash, source.Size, source.RunID)
		}
	}
	b.WriteString("  (* is cited in an answer or a file)\n")
}

// writeCitations tells which citations of the newest run to look at twice.
func writeCitations(b *strings.Builder, runs []client.Run) {
	if len(runs) == 0 {
		return
	}
	for i, line := range runs[0].Citations.Lines() {
		if i == 0 {
			fmt.Fprintf(b, "\n%s\n", line)
			continue
		}
		fmt.Fprintf(b, "  %s\n", cli.Clean(line))
	}
}
