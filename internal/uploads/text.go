package uploads

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// The text of a document lies beside it, as a Markdown file whose first line says
// what it is the text of. A file of a user's own with the same stem is therefore
// never taken for it.

// LargestText bounds the text of a document, in bytes.
const LargestText = 16 << 20

// longestMark bounds the first line.
const longestMark = 2048

// Mark is the first line of the text of a document.
func Mark(name string, size int64) string {
	quoted := strings.ReplaceAll(strconv.Quote(name), "--", `-\u002d`) // no comment may end early
	return fmt.Sprintf("<!-- text of %s, %d bytes -->\n\n", quoted, size)
}

// marked reads the first line of a text: which document it is of.
func marked(line string) (name string, size int64, ok bool) {
	rest, begins := strings.CutPrefix(line, "<!-- text of ")
	rest, ends := strings.CutSuffix(strings.TrimRight(rest, "\r\n"), " bytes -->")
	at := strings.LastIndex(rest, ", ")
	if !begins || !ends || at < 0 {
		return "", 0, false
	}
	name, err := strconv.Unquote(rest[:at])
	size, sizeErr := strconv.ParseInt(rest[at+2:], 10, 64)
	return name, size, err == nil && sizeErr == nil
}

// TextName is the name under which the text of a document would stand beside it.
func TextName(name string) string { return shorten(strings.TrimSuffix(name, path.Ext(name))+".md", "") }

// Texts finds the texts among the files of the directory: the name of each by
// that of its document. Of two for one document the younger counts.
func (d *Directory) Texts(files []fs.FileInfo) map[string]string {
	byName := make(map[string]fs.FileInfo, len(files))
	for _, f := range files {
		byName[f.Name()] = f
	}
	texts := map[string]string{}
	for _, f := range files {
		if !strings.EqualFold(path.Ext(f.Name()), ".md") {
			continue
		}
		name, size, ok := d.readMark(f.Name())
		document := byName[name]
		if !ok || document == nil || document.Size() != size {
			continue
		}
		if other := byName[texts[name]]; other == nil || other.ModTime().Before(f.ModTime()) {
			texts[name] = f.Name()
		}
	}
	return texts
}

func (d *Directory) readMark(name string) (document string, size int64, ok bool) {
	f, err := d.Open(name)
	if err != nil {
		return "", 0, false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, longestMark)
	n, err := io.ReadFull(f, head)
	if n == 0 {
		return "", 0, err == nil
	}
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	return marked(line)
}

// TextOf is the name of the text of a document, "" when there is none.
func (d *Directory) TextOf(name string) (string, error) {
	files, err := d.Files()
	if err != nil {
		return "", err
	}
	return d.Texts(files)[name], nil
}

// AddText stores the text of a document under a wanted name, or that name with a
// number.
func (d *Directory) AddText(ctx context.Context, document fs.FileInfo, want string, markdown string) (string, error) {
	text := Mark(document.Name(), document.Size()) + markdown
	info, err := d.Add(ctx, want, strings.NewReader(text), LargestText)
	if err != nil {
		return "", fmt.Errorf("store the text of %q: %w", document.Name(), err)
	}
	return info.Name(), nil
}

// TextNames are names for the texts of documents, in their order: free ones, each
// another.
func (d *Directory) TextNames(documents []string) ([]string, error) {
	taken, err := d.taken()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(documents))
	for i, document := range documents {
		want := TextName(document)
		for n := 0; names[i] == ""; n++ {
			if try := numbered(want, n); !taken[SameName(try)] {
				names[i], taken[SameName(try)] = try, true
			}
		}
	}
	return names, nil
}
