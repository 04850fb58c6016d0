package uploads

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// Listed is how many files a block describes; the others are only counted.
const Listed = 10

// Has reports whether a run has the tool of that name.
type Has func(tool string) bool

// any reports whether a run has one of the tools.
func (h Has) any(tools ...string) bool { return slices.ContainsFunc(tools, h) }

// Block tells the model of the files that came with a message (spec 4.5), and what
// to do with them by the tools that the run has. Names and titles are a user's text
// and are escaped.
func Block(files []File, has Has) thread.ContextBlock {
	var b strings.Builder
	b.WriteString("<current_uploads>\nFiles that came with this message:\n")
	converted := false
	for i := range files[:min(len(files), Listed)] {
		f := &files[i]
		fmt.Fprintf(&b, "\n- %s (%s)\n  Path: %s\n", Shown(f.Name), size(f.Size), Shown(f.Path))
		if f.Text != "" {
			converted = true
			fmt.Fprintf(&b, "  Text: %s\n", Shown(f.Text))
			f.Outline.write(&b, has)
		}
		if f.NoText != "" {
			fmt.Fprintf(&b, "  Text: none (%s)\n", agent.Line(f.NoText))
		}
	}
	if len(files) > Listed {
		fmt.Fprintf(&b, "\n%d more files: %s.%s\n", len(files)-Listed, Kinds(files[Listed:]), naming(has))
	}
	b.WriteString(reading(has))
	if converted && has.any(readers...) {
		b.WriteString("Where a text is named, it is what the document says: read it in place of the document. L<n> is the line where a part begins.\n")
	}
	b.WriteString("</current_uploads>")
	return thread.ContextBlock{Kind: thread.ContextUploads, Text: b.String()}
}

// readers are the tools that can read a file.
var readers = []string{"read_file", "bash"}

// reading says how to read the files.
func reading(has Has) string {
	switch {
	case !has.any(readers...):
		return "\nNo tool of this run reads files: do not say what is in them beyond what stands here.\n"
	case has("grep"):
		return "\nRead a file by its path before you say what is in it; of a long one read the lines that you need, or search it with grep.\n"
	}
	return "\nRead a file by its path before you say what is in it; of a long one read the lines that you need.\n"
}

// naming says how to see the names of files that are not listed.
func naming(has Has) string {
	switch {
	case has("list_uploaded_files"):
		return " Use list_uploaded_files to see their names."
	case has.any("ls", "bash"):
		return " List the upload directory to see their names."
	}
	return ""
}

func (o *Outline) write(b *strings.Builder, has Has) {
	for _, h := range o.Headings {
		fmt.Fprintf(b, "  L%d: %s\n", h.Line, agent.Line(h.Title))
	}
	if o.More {
		others := ""
		if has("grep") {
			others = "; find the others with grep"
		}
		fmt.Fprintf(b, "  (the first %d headings%s)\n", len(o.Headings), others)
	}
	if len(o.Headings) > 0 || len(o.Preview) == 0 {
		return
	}
	b.WriteString("  It has no headings and begins:\n")
	for _, line := range o.Preview {
		fmt.Fprintf(b, "  > %s\n", agent.Line(line))
	}
	if has("grep") {
		b.WriteString("  Find what you need in it with grep.\n")
	}
}

// Shown is a name or a path as a model reads it: on one line, without our tags.
// Spaces stay as they are, so that the path leads to the file.
func Shown(name string) string {
	return agent.Neutralize(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, name))
}

// size is a size for people.
func size(n int64) string {
	const kb = 1024
	if n < kb*kb {
		return fmt.Sprintf("%.1f KB", float64(n)/kb)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(kb*kb))
}

// Kinds counts files by the ends of their names, the most frequent first.
func Kinds(files []File) string {
	count := map[string]int{}
	for i := range files {
		kind := agent.Line(strings.ToLower(path.Ext(files[i].Name)))
		if kind == "" || kind == "." {
			kind = "without extension"
		}
		count[kind]++
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d %s", count[name], name))
	}
	return strings.Join(parts, ", ")
}
