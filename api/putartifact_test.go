package api

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func edit(t *testing.T, content, expected string) string {
	t.Helper()
	data, err := json.Marshal(map[string]string{"content": content, "expected_sha256": expected})
	require.NoError(t, err)
	return string(data)
}

func TestPutArtifact(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.answered(t, "x")
	path := e.output(t, "r.md", "old")
	file := filepath.Join(e.userData("t"), "outputs", "r.md")
	require.NoError(t, os.Chmod(file, 0o640))
	e.check(t, scenario{method: "PUT", path: path, body: edit(t, "new é", sha("old")), status: 200, want: []string{
		`"path":"/mnt/user-data/outputs/r.md"`, `"sha256":"` + sha("new é") + `"`, `"size":6`,
	}})
	e.check(t, scenario{method: "GET", path: path, status: 200, want: []string{"new é"}, headers: map[string]string{"ETag": `"` + sha("new é") + `"`}})
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())

	// The one who edits what has changed meanwhile is told, and nothing is lost.
	e.check(t, scenario{method: "PUT", path: path, body: edit(t, "mine", sha("old")), status: 412, want: []string{"read it again"}})
	e.check(t, scenario{method: "GET", path: path, status: 200, want: []string{"new é"}})

	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(e.userData("t"), "outputs", "link.md")))
	require.NoError(t, os.Symlink("r.md", filepath.Join(e.userData("t"), "outputs", "inner.md")))
	e.output(t, "x.bin", "\x00\x01")
	e.output(t, "large.md", strings.Repeat("x", maxHashed+1))
	base := "/api/threads/t/artifacts/mnt/user-data/"
	for _, s := range []scenario{
		{name: "no such file", path: base + "outputs/none.md", body: edit(t, "x", sha("old")), status: 404},
		{name: "not an output", path: base + "workspace/r.md", body: edit(t, "x", sha("old")), status: 400},
		{name: "traversal", path: base + "outputs/..%2fworkspace/r.md", body: edit(t, "x", sha("old")), status: 403},
		{name: "a link out", path: base + "outputs/link.md", body: edit(t, "x", sha("secret")), status: 403},
		{name: "a link", path: base + "outputs/inner.md", body: edit(t, "x", sha("new é")), status: 400},
		{name: "a directory", path: base + "outputs/", body: edit(t, "x", sha("old")), status: 403},
		{name: "binary", path: base + "outputs/x.bin", body: edit(t, "x", sha("\x00\x01")), status: 415},
		{name: "a large file", path: base + "outputs/large.md", body: edit(t, "x", sha("old")), status: 413},
		{name: "a large text", path: path, body: edit(t, strings.Repeat("x", maxHashed+1), sha("new é")), status: 413},
		{name: "no hash", path: path, body: `{"content":"x"}`, status: 400},
		{name: "no content", path: path, body: `{"expected_sha256":"` + sha("old") + `"}`, status: 400},
		{name: "not a text", path: path, body: `{"content":1,"expected_sha256":"` + sha("old") + `"}`, status: 400},
		{name: "no thread", path: "/threads/none/artifacts/mnt/user-data/outputs/r.md", body: edit(t, "x", sha("old")), status: 404},
	} {
		t.Run(s.name, func(t *testing.T) {
			s.method = "PUT"
			e.check(t, s)
		})
	}
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "secret", string(data))
	e.say(t, "t", "again")
	e.check(t, scenario{method: "PUT", path: path, body: edit(t, "x", sha("new é")), status: 409, want: []string{"run in flight"}})
	e.check(t, scenario{method: "GET", path: path, status: 200, want: []string{"new é"}})
	entries, err := os.ReadDir(filepath.Join(e.userData("t"), "outputs"))
	require.NoError(t, err)
	require.Len(t, entries, 5, "nothing is left of edits that failed")
}

// A file in a packed skill is read like one beside it.
func TestArtifactsInASkill(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for name, content := range map[string]string{"SKILL.md": "# S", "refs/a.html": "<script>", "big.md": strings.Repeat("x", maxHashed+1)} {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	path := e.output(t, "x.skill", packed.String())
	e.output(t, "fake.skill", "no archive")
	e.check(t, scenario{method: "GET", path: path + "/SKILL.md", status: 200, want: []string{"# S"}, headers: map[string]string{
		"Content-Type": "text/markdown; charset=utf-8", "ETag": `"` + sha("# S") + `"`,
	}})
	e.check(t, scenario{method: "GET", path: path + "/SKILL.md", header: map[string]string{"Range": "bytes=2-2"}, status: 206, want: []string{"S"}})
	e.check(t, scenario{method: "GET", path: path + "/refs/a.html", status: 200, headers: map[string]string{"Content-Security-Policy": "sandbox; default-src 'none'"}})
	e.check(t, scenario{method: "GET", path: path + "/big.md", status: 413})
	e.check(t, scenario{method: "GET", path: path, status: 200})
	for _, gone := range []string{"/none.md", "/refs", "/..%2fr.md"} {
		status, _, body := e.do(t, "GET", path+gone, "", nil)
		require.Contains(t, []int{403, 404}, status, body)
	}
	e.check(t, scenario{method: "GET", path: strings.Replace(path, "x.skill", "fake.skill", 1) + "/SKILL.md", status: 404})
	e.check(t, scenario{method: "GET", path: strings.Replace(path, "x.skill", "none.skill", 1) + "/SKILL.md", status: 404})
}
