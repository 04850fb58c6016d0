package conversation

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"deerflow/internal/cli"
)

// maxText is the size up to which the text of a file is part of the output.
const maxText = 8 << 20

// addFiles fetches what the output needs of the files. One that cannot be read any more is named without its text.
func (c *conversation) addFiles(ctx context.Context, r *Result) {
	for i := range r.Files {
		c.progress.Status("fetching %s", r.Files[i].Name)
		if err := c.fetch(ctx, &r.Files[i]); err != nil {
			c.progress.Note("The file %s cannot be read: %v", r.Files[i].Path, err)
		}
	}
	c.progress.Idle()
}

func (c *conversation) fetch(ctx context.Context, f *File) error {
	a, err := c.client.DownloadArtifact(ctx, c.threadID, f.Path)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	f.Size = a.Size
	if f.MIME, _, err = mime.ParseMediaType(a.Type); err != nil {
		f.MIME = ""
	}
	if !isText(f.MIME) || a.Size > maxText {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(a, maxText+1))
	if err != nil {
		return err
	}
	if len(data) > maxText {
		return nil
	}
	f.Size = int64(len(data))
	if utf8.Valid(data) {
		f.Text = string(data)
	}
	return nil
}

// isText tells the kinds of files whose text can be part of the output.
func isText(kind string) bool {
	for _, suffix := range []string{"/json", "+json", "/xml", "+xml", "/yaml", "/x-yaml"} {
		if strings.HasSuffix(kind, suffix) {
			return true
		}
	}
	return strings.HasPrefix(kind, "text/")
}

// isReport tells files that people read as they are.
func isReport(f *File) bool {
	return f.Text != "" && (f.MIME == "text/markdown" || f.MIME == "text/plain")
}

// print writes the result to Out in the chosen format.
func (c *conversation) print(r *Result) error {
	switch c.o.Format {
	case cli.FormatJSON:
		return c.o.Format.WriteJSON(c.o.Out, r)
	case cli.FormatJSONL:
		return c.o.Format.WriteJSON(c.o.Out, struct {
			Event string  `json:"event"`
			Data  *Result `json:"data"`
		}{"result", r})
	default:
		return c.printText(r)
	}
}

func (c *conversation) printText(r *Result) error {
	if _, err := io.WriteString(c.o.Out, c.text(r)); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	for i := range r.Files {
		f := &r.Files[i]
		c.progress.Step(cli.MarkDone, f.Name, strings.TrimSpace(size(f.Size)+"  "+c.place(f)))
	}
	for i, line := range r.Citations.Lines() {
		if i == 0 {
			c.progress.Note("%s", line)
			continue
		}
		c.progress.Note("  %s", line)
	}
	if r.Usage.ModelCalls > 0 {
		c.progress.Info("Model calls: %d · tokens: %d", r.Usage.ModelCalls, r.Usage.TotalTokens)
	}
	return nil
}

// text is the answer, then the reports. Several of them get a line with their name each.
func (c *conversation) text(r *Result) string {
	var parts []string
	if r.Answer != "" {
		parts = append(parts, r.Answer)
	}
	var reports []string
	for i := range r.Files {
		if f := &r.Files[i]; isReport(f) {
			reports = append(reports, strings.TrimRight(f.Text, "\n"))
		}
	}
	if len(reports) > 1 {
		n := 0
		for i := range r.Files {
			if f := &r.Files[i]; isReport(f) {
				reports[n] = "==> " + f.Name + " <==\n" + reports[n]
				n++
			}
		}
	}
	parts = append(parts, reports...)
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, "\n\n") + "\n"
	if c.o.OutIsTTY {
		text = cli.CleanLines(text)
	}
	return text
}

// place is where a person finds a file: on this machine, or at the server.
func (c *conversation) place(f *File) string {
	if rest, ok := strings.CutPrefix(f.Path, "/mnt/user-data/"); ok && c.server.Local && filepath.IsLocal(rest) {
		path := filepath.Join(c.o.DataDir, "users", "default", "threads", c.threadID, "user-data", filepath.FromSlash(rest))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	parts := strings.Split(strings.TrimPrefix(f.Path, "/"), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return c.server.URL + "/api/threads/" + c.threadID + "/artifacts/" + strings.Join(parts, "/")
}

// size writes a number of bytes as people read it.
func size(n int64) string {
	switch {
	case n < 0:
		return ""
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1000/1000)
	}
}
