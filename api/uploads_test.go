package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

func (e *env) userData(thread string) string {
	return filepath.Join(e.dataDir, "users", "default", "threads", thread, "user-data")
}

// names are the stored names of an upload.
func names(up testkit.Upload) []string {
	list := make([]string, len(up.Files))
	for i, f := range up.Files {
		list[i] = f.Filename
	}
	return list
}

func TestUpload(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	up, err := e.root.Upload(e.ctx, "new", testkit.UploadFile{Name: "a.txt", Content: []byte("hello")}, testkit.UploadFile{Name: "../b/c.md", Content: nil})
	require.NoError(t, err, "the thread need not exist")
	require.True(t, up.Success)
	require.Equal(t, []string{"a.txt", "c.md"}, names(up))
	require.Equal(t, "/mnt/user-data/uploads/a.txt", up.Files[0].VirtualPath)
	require.Equal(t, "/api/threads/new/artifacts/mnt/user-data/uploads/a.txt", up.Files[0].ArtifactURL)
	require.Equal(t, json.Number("5"), up.Files[0].Size)
	data, err := os.ReadFile(filepath.Join(e.userData("new"), "uploads", "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "hello", string(data))
	e.check(t, scenario{method: "GET", path: up.Files[0].ArtifactURL, status: 200, want: []string{"hello"}})
	e.check(t, scenario{
		method: "GET", path: "/api/threads/new/uploads/list", status: 200,
		want: []string{`"count":2`, `"filename":"a.txt"`, `"filename":"c.md"`, `"extension":".md"`}, wantNot: []string{".part"},
	})
	e.check(t, scenario{method: "GET", path: "/threads/none/uploads/list", status: 200, want: []string{`{"count":0,"files":[]}`}})
	e.check(t, scenario{method: "GET", path: "/threads/none/uploads/limits", status: 200, want: []string{`"max_files":10`, `"max_file_size":52428800`, `"max_total_size":104857600`}})
	e.check(t, scenario{method: "POST", path: "/threads/none/uploads", body: `{}`, status: 400, want: []string{"multipart"}})
	_, err = e.root.Upload(e.ctx, "new")
	require.Equal(t, 400, testkit.StatusOf(err))
	_, err = e.root.Upload(e.ctx, "a.b", testkit.UploadFile{Name: "x"})
	require.Equal(t, 422, testkit.StatusOf(err))
	up, err = e.root.Upload(e.ctx, "new", testkit.UploadFile{Name: "ok", Content: []byte("x")}, testkit.UploadFile{Name: "..", Content: []byte("x")},
		testkit.UploadFile{Name: `a\b`, Content: []byte("x")})
	require.NoError(t, err)
	require.Equal(t, []string{"ok"}, names(up))
	require.Equal(t, []string{"..", `a\b`}, up.Skipped)
	_, err = e.root.Upload(e.ctx, "new", testkit.UploadFile{Name: "..", Content: []byte("x")})
	require.Equal(t, 400, testkit.StatusOf(err), "nothing is left")
}

// TestI07NothingIsOverwritten: names that are taken get a number.
func TestI07NothingIsOverwritten(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	up, err := e.root.Upload(e.ctx, "t",
		testkit.UploadFile{Name: "a.docx", Content: []byte("1")}, testkit.UploadFile{Name: "a.md", Content: []byte("2")},
		testkit.UploadFile{Name: "a.md", Content: []byte("3")}, testkit.UploadFile{Name: "x/a.md", Content: []byte("4")})
	require.NoError(t, err)
	require.Equal(t, []string{"a.docx", "a.md", "a_1.md", "a_2.md"}, names(up))
	up, err = e.root.Upload(e.ctx, "t", testkit.UploadFile{Name: "a.md", Content: []byte("5")})
	require.NoError(t, err)
	require.Equal(t, []string{"a_3.md"}, names(up))
	for i, name := range []string{"a.docx", "a.md", "a_1.md", "a_2.md", "a_3.md"} {
		data, err := os.ReadFile(filepath.Join(e.userData("t"), "uploads", name))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i+1), string(data), name)
	}
}

// TestUploadsRace: many uploads of one name at once all survive.
func TestUploadsRace(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var wg sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = e.root.Upload(e.ctx, "t", testkit.UploadFile{Name: "same.txt", Content: []byte{byte('a' + i)}})
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	seen := map[string]bool{}
	entries, err := os.ReadDir(filepath.Join(e.userData("t"), "uploads"))
	require.NoError(t, err)
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(e.userData("t"), "uploads", entry.Name()))
		require.NoError(t, err)
		seen[string(data)] = true
	}
	require.Len(t, entries, 12)
	require.Len(t, seen, 12)
}

func TestI04UnicodeForms(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const nfd, nfc = "re\u0301sume\u0301.pdf", "r\u00e9sum\u00e9.pdf"
	up, err := e.root.Upload(e.ctx, "t", testkit.UploadFile{Name: nfd, Content: []byte("decomposed")}, testkit.UploadFile{Name: nfc, Content: []byte("composed")})
	require.NoError(t, err)
	require.Equal(t, []string{nfd, "r\u00e9sum\u00e9_1.pdf"}, names(up), "the name as it was given, and no overwrite")
	for _, form := range []string{nfc, nfd} {
		data, err := e.root.Artifact(e.ctx, "t", "/mnt/user-data/uploads/"+form)
		require.NoError(t, err, "%q", form)
		require.Equal(t, "decomposed", string(data))
	}
	dir := filepath.Join(e.userData("t"), "outputs", "u\u0308ber")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, nfd), []byte("deep"), 0o600))
	data, err := e.root.Artifact(e.ctx, "t", "/mnt/user-data/outputs/\u00fcber/"+nfc)
	require.NoError(t, err)
	require.Equal(t, "deep", string(data))
}

func TestI05CJKNames(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	name := "季度报告（终稿）.xlsx"
	long := strings.Repeat("长", 90) + ".md"
	up, err := e.root.Upload(e.ctx, "t", testkit.UploadFile{Name: name, Content: []byte("x")}, testkit.UploadFile{Name: long, Content: []byte("y")})
	require.NoError(t, err)
	require.Equal(t, []string{name, strings.Repeat("长", 84) + ".md"}, names(up))
	status, header, _ := e.do(t, "GET", up.Files[0].ArtifactURL, "", nil)
	require.Equal(t, 200, status)
	_, params, err := mime.ParseMediaType(header.Get("Content-Disposition"))
	require.NoError(t, err)
	require.Equal(t, name, params["filename"])
	data, err := e.root.Artifact(e.ctx, "t", up.Files[1].VirtualPath)
	require.NoError(t, err)
	require.Equal(t, "y", string(data))
}

func TestUploadLimits(t *testing.T) {
	t.Parallel()
	e := newEnv(t, limited(UploadLimits{MaxFiles: 2, MaxFileSize: 10, MaxTotalSize: 15}))
	file := func(n int) testkit.UploadFile {
		return testkit.UploadFile{Name: "f.txt", Content: bytes.Repeat([]byte("x"), n)}
	}
	for want, files := range map[string][]testkit.UploadFile{
		"limit of 10 bytes":        {file(11)},
		"limit of 15 bytes in all": {file(10), file(6)},
		"at most 2":                {file(1), file(1), file(1)},
	} {
		_, err := e.root.Upload(e.ctx, "t", files...)
		require.Equal(t, 413, testkit.StatusOf(err))
		require.ErrorContains(t, err, want)
		entries, err := os.ReadDir(filepath.Join(e.userData("t"), "uploads"))
		require.NoError(t, err)
		require.Empty(t, entries, "nothing is left")
	}
	_, err := e.root.Upload(e.ctx, "t", file(10), file(5))
	require.NoError(t, err)
}

// TestUploadOverhead: what is no file counts too.
func TestUploadOverhead(t *testing.T) {
	t.Parallel()
	e := newEnv(t, limited(UploadLimits{MaxFiles: 2, MaxFileSize: 10, MaxTotalSize: 10}))
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormField("junk")
	require.NoError(t, err)
	_, err = part.Write(make([]byte, 2<<20))
	require.NoError(t, err)
	require.NoError(t, form.Close())
	status, _, text := e.do(t, "POST", "/threads/t/uploads", body.String(), map[string]string{"Content-Type": form.FormDataContentType()})
	require.Equal(t, 413, status, text)
	status, _, text = e.do(t, "POST", "/threads/t/uploads", body.String()[:1000], map[string]string{"Content-Type": form.FormDataContentType()})
	require.Equal(t, 400, status, text)
}

// TestI02Links: nothing leaves the thread's directories, links inside work.
func TestI02Links(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	base := e.userData("t")
	for _, dir := range []string{"workspace", "outputs", "uploads"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, dir), 0o700))
	}
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(base, "workspace", "in.txt"), []byte("inside"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(base, "outputs", "out.txt")))
	require.NoError(t, os.Symlink("../../../../../../../../etc", filepath.Join(base, "outputs", "etc")))
	require.NoError(t, os.Symlink("../workspace/in.txt", filepath.Join(base, "outputs", "in.txt")))
	require.NoError(t, os.Symlink("loop", filepath.Join(base, "outputs", "loop")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(base, "outputs", "pipe"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(base, "uploads", "up.txt")))
	require.NoError(t, os.MkdirAll(base+"-old", 0o700))

	for path, status := range map[string]int{
		"outputs/out.txt": 403, "outputs/etc/passwd": 403, "outputs/in.txt": 200, "outputs/loop": 403, "outputs/pipe": 400,
		"outputs": 400, "workspace/": 403, "outputs/none": 404, "outputs/in.txt/deeper": 404, "uploads/up.txt": 403,
		"secrets/x": 403, "outputs/%2e%2e/%2e%2e/x": 403, "outputs/../workspace/in.txt": 403, "outputs//in.txt": 403,
		"outputs/..%2f..%2fx": 403, "outputs/a%5cb": 403, "outputs/a%00b": 403, "outputs/" + strings.Repeat("x", 300): 404,
	} {
		got, _, body := e.rawGet(t, "/api/threads/t/artifacts/mnt/user-data/"+path)
		require.Equal(t, status, got, "%s: %s", path, body)
		require.NotContains(t, body, "secret\"", path)
		if status == 200 {
			require.Equal(t, "inside", body)
		}
	}
	for _, path := range []string{"mnt/user-data-old/x/y", "etc/passwd", "mnt/skills/a/b", "", "x"} {
		e.check(t, scenario{method: "GET", path: "/threads/t/artifacts/" + path, status: 400, want: []string{"mnt/user-data"}})
	}
	up, err := e.root.Upload(e.ctx, "t", testkit.UploadFile{Name: "up.txt", Content: []byte("new")})
	require.NoError(t, err)
	require.Equal(t, []string{"up_1.txt"}, names(up), "a link is never written through")
	data, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "secret", string(data))
	e.check(t, scenario{method: "GET", path: "/threads/t/uploads/list", status: 200, want: []string{"up_1.txt"}, wantNot: []string{`"up.txt"`}})

	require.NoError(t, os.RemoveAll(filepath.Join(base, "uploads")))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(base, "uploads")))
	_, err = e.root.Upload(e.ctx, "t", testkit.UploadFile{Name: "x.txt", Content: []byte("new")})
	require.Error(t, err)
	require.NotEqual(t, 200, testkit.StatusOf(err))
}

// rawGet sends a path as it is.
func (e *env) rawGet(t *testing.T, path string) (int, http.Header, string) {
	t.Helper()
	return e.do(t, http.MethodGet, path, "", nil)
}

func TestI09Artifacts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	dir := filepath.Join(e.userData("t"), "outputs")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	write := func(name, content string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		return "/api/threads/t/artifacts/mnt/user-data/outputs/" + name
	}
	text := write("a.md", "0123456789")
	sum := sha256.Sum256([]byte("0123456789"))
	tag := `"` + hex.EncodeToString(sum[:]) + `"`
	e.check(t, scenario{method: "GET", path: text, status: 200, want: []string{"0123456789"}, headers: map[string]string{
		"Content-Type": "text/markdown; charset=utf-8", "X-Content-Type-Options": "nosniff", "ETag": tag, "Content-Length": "10",
		"Content-Disposition": `inline; filename="a.md"; filename*=UTF-8''a.md`, "Content-Security-Policy": "",
	}})
	e.check(t, scenario{
		method: "GET", path: text, header: map[string]string{"Range": "bytes=5-9"}, status: 206, want: []string{"56789"},
		headers: map[string]string{"Content-Range": "bytes 5-9/10"},
	})
	e.check(t, scenario{method: "GET", path: text, header: map[string]string{"Range": "bytes=0-1048575"}, status: 206, headers: map[string]string{"Content-Range": "bytes 0-9/10"}})
	e.check(t, scenario{method: "GET", path: text, header: map[string]string{"Range": "bytes=20-30"}, status: 416})
	e.check(t, scenario{method: "GET", path: text, header: map[string]string{"If-None-Match": tag}, status: 304})
	e.check(t, scenario{method: "HEAD", path: text, status: 200, headers: map[string]string{"Content-Length": "10"}})
	e.check(t, scenario{method: "HEAD", path: text + "x", status: 404})
	e.check(t, scenario{method: "GET", path: text + "?download=true", status: 200, headers: map[string]string{"Content-Disposition": `attachment; filename="a.md"; filename*=UTF-8''a.md`}})
	empty := write("empty.txt", "")
	e.check(t, scenario{method: "GET", path: empty, header: map[string]string{"Range": "bytes=0-1048575"}, status: 416, headers: map[string]string{"Content-Range": "bytes */0"}})
	e.check(t, scenario{method: "GET", path: empty, status: 200})
	for _, name := range []string{"x.html", "x.HTM", "x.xhtml", "x.svg", "x.xml"} {
		e.check(t, scenario{method: "GET", path: write(name, "<script>alert(1)</script>"), status: 200, headers: map[string]string{
			"Content-Disposition":     `attachment; filename="` + name + `"; filename*=UTF-8''` + name,
			"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff",
		}})
	}
	for name, kind := range map[string]string{
		"x.js": "text/plain; charset=utf-8", "x.py": "text/plain; charset=utf-8", "noext": "text/plain; charset=utf-8", "x.png": "image/png",
		"x.pdf": "application/pdf", "x.mp4": "video/mp4", "x.json": "application/json",
	} {
		e.check(t, scenario{method: "GET", path: write(name, "<html>text"), status: 200, headers: map[string]string{"Content-Type": kind}})
	}
	e.check(t, scenario{method: "GET", path: write("x.bin", "\x00\x01\x02"), status: 200, headers: map[string]string{"Content-Type": "application/octet-stream"}})
	big := write("big.log", strings.Repeat("x", maxHashed+1))
	_, header, _ := e.do(t, "GET", big, "", map[string]string{"Range": "bytes=0-0"})
	require.NotEmpty(t, header.Get("ETag"))
	require.Less(t, len(header.Get("ETag")), 50, "a large file is not hashed")
	write("a b%c.md", "spaced")
	data, err := e.root.Artifact(e.ctx, "t", "/mnt/user-data/outputs/a b%c.md")
	require.NoError(t, err)
	require.Equal(t, "spaced", string(data))
}

func TestFilesOwnerIsChecked(t *testing.T) {
	t.Parallel()
	files := NewFiles(t.TempDir())
	for _, o := range []FileOwner{{"../x", "t"}, {"u", "../t"}, {"", "t"}, {"u", ""}, {"u", "a/b"}} {
		_, err := files.Open(t.Context(), o, "/mnt/user-data/outputs/a")
		require.ErrorIs(t, err, ErrFileRefused)
		_, err = files.Upload(t.Context(), o, "a", strings.NewReader("x"), 10)
		require.ErrorIs(t, err, ErrFileRefused)
		require.ErrorIs(t, files.RemoveThread(t.Context(), o), ErrFileRefused)
	}
	require.NoError(t, files.RemoveThread(t.Context(), FileOwner{"u", "t"}), "nothing there is fine")
	require.NoError(t, NewFiles(filepath.Join(t.TempDir(), "none")).RemoveThread(t.Context(), FileOwner{"u", "t"}))
}

func limited(l UploadLimits) func(*Options) {
	return func(o *Options) { o.Settings = func() Settings { return Settings{Uploads: l} } }
}
