package tools

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/uploads"
)

// uploaded puts files into the upload directory, each older than the one before.
func (k *kit) uploaded(files ...[2]string) {
	k.t.Helper()
	dir := filepath.Join(k.root, "u1", "threads", "t1", "user-data", "uploads")
	for i, f := range files {
		name := filepath.Join(dir, f[0])
		require.NoError(k.t, os.WriteFile(name, []byte(f[1]), 0o600))
		at := time.Now().Add(-time.Duration(i) * time.Minute)
		require.NoError(k.t, os.Chtimes(name, at, at))
	}
	k.env.Uploads = func() (*uploads.Directory, error) { return uploads.Open(k.root, "u1", "t1", false) }
}

func (k *kit) uploads(args any) uploadList {
	k.t.Helper()
	var list uploadList
	require.NoError(k.t, json.Unmarshal([]byte(k.ok(ListUploadedFiles, args)), &list))
	return list
}

func TestListUploadedFiles(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	require.Equal(t, uploadList{Files: []uploadedFile{}, Message: "No files were uploaded with earlier messages."}, k.uploads(a{}))
	k.env.Uploads = func() (*uploads.Directory, error) { return nil, fs.ErrNotExist }
	require.Empty(t, k.uploads(a{}).Files)

	k.uploaded(
		[2]string{"now.csv", "a,b"}, [2]string{"notes.md", "# Own\n## Notes\n"}, [2]string{"report.pdf", "%PDF"},
		[2]string{"report.md", "my own\n"}, [2]string{"report_1.md", uploads.Mark("report.pdf", 4) + "just\ntext\n"},
		[2]string{"<soul>  x.txt", "x"}, [2]string{".upload-1.part", "x"},
	)
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(k.root, "u1/threads/t1/user-data/uploads/link.txt")))
	k.env.CurrentUploads = []string{"now.csv"}
	got := k.uploads(a{"include_outline": []string{"notes.md", "/mnt/user-data/uploads/report.pdf"}})
	require.Equal(t, uploadList{Files: []uploadedFile{
		{Filename: "notes.md", Size: 15, Path: "/mnt/user-data/uploads/notes.md", Extension: ".md", Outline: []string{"L1: Own", "L2: Notes"}},
		{Filename: "report.pdf", Size: 4, Path: "/mnt/user-data/uploads/report.pdf", Extension: ".pdf", Text: "/mnt/user-data/uploads/report_1.md", Preview: []string{"just", "text"}},
		{Filename: "report.md", Size: 7, Path: "/mnt/user-data/uploads/report.md", Extension: ".md"},
		{Filename: "&lt;soul&gt;  x.txt", Size: 1, Path: "/mnt/user-data/uploads/&lt;soul&gt;  x.txt", Extension: ".txt"},
	}, Total: 4, Message: "4 of 4 files, the newest first."}, got)
	for _, all := range []any{true, "true", []string{"*"}, `["*"]`} {
		require.NotEmpty(t, k.uploads(a{"include_outline": all}).Files[2].Preview, "%v", all)
	}
	require.Empty(t, k.uploads(a{"include_outline": false}).Files[0].Outline)
	k.fails(ListUploadedFiles, a{"include_outline": 7}, "include_outline")
	k.fails(ListUploadedFiles, a{"max_results": 101}, "max_results")

	one := k.uploads(a{"max_results": 1})
	require.Len(t, one.Files, 1)
	require.Equal(t, 4, one.Total)
	require.True(t, one.Truncated)
	require.Equal(t, "1 .md, 1 .pdf, 1 .txt", one.Omitted)
}

// I15: many old files do not fill the window.
func TestI15ListUploadedFilesIsBounded(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	var many [][2]string
	for i := range 400 {
		many = append(many, [2]string{fmt.Sprintf("%s-%03d.txt", strings.Repeat("x", 100), i), "x"})
	}
	k.uploaded(many...)
	require.Len(t, k.uploads(a{}).Files, 20)
	most := k.uploads(a{"max_results": 100})
	require.Len(t, most.Files, 100)
	require.Equal(t, 400, most.Total)
	require.Equal(t, "300 .txt", most.Omitted)
}

// I11: who reads a document is told where its text is.
func TestI11ReadFileNamesTheTextOfADocument(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.uploaded([2]string{"report.pdf", "%PDF-1.4\x00"}, [2]string{"report_1.md", uploads.Mark("report.pdf", 9) + "text\n"}, [2]string{"other.docx", "PK\x03\x04\x00"})
	k.fails("read_file", a{"description": "d", "path": "/mnt/user-data/uploads/report.pdf"},
		"/mnt/user-data/uploads/report.pdf is a binary file (PDF document, 9 bytes), not text. What it says is in /mnt/user-data/uploads/report_1.md: read that.")
	k.fails("read_file", a{"description": "d", "path": "/mnt/user-data/uploads/other.docx"}, "is a binary file (ZIP archive or Office document", "no text of it")
	k.env.Uploads = nil
	k.fails("read_file", a{"description": "d", "path": "/mnt/user-data/uploads/report.pdf"}, "PDF document", "no text of it")
}
