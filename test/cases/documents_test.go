package cases

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// withFiles says text with files that were uploaded.
func withFiles(text string, up Upload) RunRequest {
	files := []any{}
	for _, f := range up.Files {
		files = append(files, map[string]any{"filename": f.Filename, "size": f.Size, "path": f.VirtualPath, "status": "uploaded"})
	}
	r := SayWatched("")
	r.Input = map[string]any{"messages": []any{map[string]any{"role": "user", "content": text, "additional_kwargs": map[string]any{"files": files}}}}
	return r
}

func uploadNames(up Upload) (names, texts []string) {
	for _, f := range up.Files {
		names, texts = append(names, f.Filename), append(texts, f.MarkdownFile)
	}
	return names, texts
}

// A PDF that is uploaded is text to the model: its outline comes with the
// message, read_file reads the text, and whoever reads the PDF is sent there.
// I07: three files of one stem overwrite nothing. I11: no retry loop on a binary.
func TestI07DocumentsAreReadAsText(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	df := api.WithPrefix("/api")
	id := newThread(t, api)
	up, err := api.Upload(patient(t), id,
		UploadFile{Name: "offer.docx", Content: Docx("# Terms", "Payment within 30 days.")}, UploadFile{Name: "offer.md", Content: []byte("my notes\n")},
		UploadFile{Name: "offer.pdf", Content: PDF("# The Offer\nWe offer a wall of bricks, painted white on both of its sides.", "# Prices\nThe wall costs 1234 EUR, without tax, if it is ordered this year.")},
		UploadFile{Name: "broken.docx", Content: []byte("PK broken")})
	require.NoError(t, err)
	names, _ := uploadNames(up)
	require.Equal(t, []string{"offer.docx", "offer.md", "offer.pdf", "broken.docx"}, names)
	list := func() (names, texts []string) {
		var list Upload
		_, err := df.Do(patient(t), http.MethodGet, "/threads/"+id+"/uploads/list", nil, &list)
		require.NoError(t, err)
		return uploadNames(list)
	}
	require.Eventually(t, func() bool { // a busy machine answers an upload before its texts are there
		_, texts := list()
		return slices.Equal(texts, []string{"", "offer_1.md", "", "offer_2.md"})
	}, 2*patience, 50*time.Millisecond)
	notes, err := api.Artifact(patient(t), id, "/mnt/user-data/uploads/offer.md")
	require.NoError(t, err)
	require.Equal(t, "my notes\n", string(notes))

	m.Respond(ByTurn(ToolCalls(
		call("c1", "read_file", map[string]any{"description": "d", "path": "/mnt/user-data/uploads/offer_2.md"}),
		call("c2", "read_file", map[string]any{"description": "d", "path": "/mnt/user-data/uploads/offer.pdf"}),
		call("c3", "grep", map[string]any{"description": "d", "pattern": "1234", "path": "/mnt/user-data/uploads"}),
	), Text("1234 EUR")))
	require.Equal(t, "success", do(t, api, id, withFiles("What does it cost?", up)).Status)
	first := m.Requests()[0]
	told := first.Messages[len(first.Messages)-1].Text()
	require.Contains(t, told, "- offer.pdf (")
	require.Contains(t, told, "  Text: /mnt/user-data/uploads/offer_2.md\n  L5: The Offer\n  L11: Prices\n")
	require.Contains(t, told, "  Text: /mnt/user-data/uploads/offer_1.md\n  L3: Terms\n")
	require.Contains(t, told, "/broken.docx\n  Text: none (the document is damaged)\n")
	last := m.Requests()[1]
	read, ok := last.ToolResult("c1")
	require.True(t, ok)
	require.Contains(t, read, "# Prices\n\nThe wall costs 1234 EUR")
	binary, ok := last.ToolResult("c2")
	require.True(t, ok)
	require.Contains(t, binary, "is a binary file (PDF document")
	require.Contains(t, binary, "/mnt/user-data/uploads/offer_2.md: read that")
	found, ok := last.ToolResult("c3")
	require.True(t, ok)
	require.Contains(t, found, "/mnt/user-data/uploads/offer_2.md:")

	// The text goes with its document.
	_, err = df.Do(patient(t), http.MethodDelete, "/threads/"+id+"/uploads/offer.pdf", nil, nil)
	require.NoError(t, err)
	_, err = df.Do(patient(t), http.MethodDelete, "/threads/"+id+"/uploads/offer.pdf", nil, nil)
	require.Equal(t, 404, StatusOf(err))
	_, err = api.Artifact(patient(t), id, "/mnt/user-data/uploads/offer_2.md")
	require.Equal(t, 404, StatusOf(err))
	names, texts := list()
	require.Equal(t, []string{"broken.docx", "offer.docx", "offer.md"}, names)
	require.Equal(t, []string{"", "offer_1.md", ""}, texts)
}

// I15: a file that was just uploaded is told first and can be read; 400 old ones
// take no room, and are listed when the model asks.
func TestI15OldUploadsTakeNoRoom(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	for i := range 400 {
		write(t, filepath.Join(userDir(p, id), "uploads", fmt.Sprintf("old-%03d.txt", i)), "old")
	}
	up, err := api.Upload(patient(t), id, UploadFile{Name: "new.txt", Content: []byte("fresh")})
	require.NoError(t, err)
	m.Respond(ByTurn(ToolCalls(
		call("c1", "read_file", map[string]any{"description": "d", "path": "/mnt/user-data/uploads/new.txt"}),
		call("c2", "list_uploaded_files", map[string]any{}),
	), Text("fine")))
	require.Equal(t, "success", do(t, api, id, withFiles("Read it", up)).Status)
	first := m.Requests()[0]
	told := first.Messages[len(first.Messages)-1].Text()
	require.Contains(t, told, "- new.txt (")
	require.NotContains(t, told, "old-")
	tools := 0
	for _, tool := range first.Tools {
		if tool.Name == "list_uploaded_files" {
			tools++
			require.NotContains(t, string(tool.Parameters), "thread")
		}
	}
	require.Equal(t, 1, tools)
	last := m.Requests()[1]
	read, _ := last.ToolResult("c1")
	require.Equal(t, "fresh", strings.TrimSpace(read))
	listed, _ := last.ToolResult("c2")
	require.Contains(t, listed, `"total_count":400`)
	require.NotContains(t, listed, "new.txt")
	require.Equal(t, 20, strings.Count(listed, `"filename"`))
}

// With Temporal away an upload succeeds, and the text is there when the model
// reads of the file.
func TestATextIsMadeWhenItIsMissed(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.Respond(func(*Request) Reply { return Text("read") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	name := filepath.Join(userDir(p, id), "uploads", "late.docx")
	write(t, name, string(Docx("# Late", "but there")))
	up := Upload{Files: []UploadedFile{{Filename: "late.docx", Size: "1"}}}
	require.Equal(t, "success", do(t, api, id, withFiles("Read it", up)).Status)
	first := m.Requests()[0]
	require.Contains(t, first.Messages[len(first.Messages)-1].Text(), "  Text: /mnt/user-data/uploads/late.md\n  L3: Late\n")
}
