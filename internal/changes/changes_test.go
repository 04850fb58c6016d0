package changes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
)

const (
	ws  = sandbox.Workspace
	out = sandbox.Outputs
)

// survey is a look at files by their content.
func survey(files map[string]string) *sandbox.Survey {
	s := &sandbox.Survey{}
	for path, content := range files {
		f := sandbox.Surveyed{Path: path, Size: int64(len(content)), ModTime: time.Unix(1, 0)}
		if target, ok := strings.CutPrefix(content, "->"); ok {
			f.Link = target
		} else {
			sum := sha256.Sum256([]byte(content))
			f.Hash, f.Binary = hex.EncodeToString(sum[:]), !isText(content)
		}
		s.Files = append(s.Files, f)
	}
	slices.SortFunc(s.Files, func(a, b sandbox.Surveyed) int { return sandbox.InWalkOrder(a.Path, b.Path) })
	return s
}

// kept gives the texts of files.
func kept(files map[string]string) Texts {
	byHash := map[string]string{}
	for _, content := range files {
		sum := sha256.Sum256([]byte(content))
		byHash[hex.EncodeToString(sum[:])] = content
	}
	return func(hash string) (string, bool) {
		text, ok := byHash[hash]
		return text, ok
	}
}

func between(before, after map[string]string) Changes {
	return Between(survey(before), survey(after), kept(before), kept(after))
}

func TestBetween(t *testing.T) {
	t.Parallel()
	c := between(map[string]string{
		ws + "/same.txt": "same", ws + "/mod.txt": "one\ntwo\nthree\n", ws + "/gone.txt": "a\nb\n", ws + "/bin": "\x00a", ws + "/d/x": "x",
		sandbox.Uploads + "/u.md": "up", ws + "/empty": "", ws + "/key.pem": "secret one",
	}, map[string]string{
		ws + "/same.txt": "same", ws + "/mod.txt": "one\n2\nthree\nfour\n", ws + "/bin": "\x00b", ws + "/d/x": "x", out + "/new.md": "# N\n",
		sandbox.Uploads + "/u.md": "changed", sandbox.Uploads + "/later.md": "brought by the user", ws + "/link": "->/etc/passwd", ws + "/empty": "now\n",
		ws + "/key.pem": "secret two",
	})
	require.Equal(t, Summary{Created: 1, Modified: 5, Deleted: 1, SymlinkCreated: 1, Additions: 2 + 1 + 1 + 1 + 1, Deletions: 1 + 2 + 1}, c.Summary)
	byName := map[string]File{}
	var order []string
	for _, f := range c.Files {
		order = append(order, f.Path)
		byName[strings.TrimPrefix(f.Path, sandbox.UserData+"/")] = f
	}
	require.True(t, slices.IsSortedFunc(order, sandbox.InWalkOrder))
	require.NotContains(t, byName, "uploads/later.md", "what the user brings meanwhile is no change of the run")
	require.Equal(t, Modified, byName["uploads/u.md"].Status)

	mod := byName["workspace/mod.txt"]
	require.Equal(t, "--- a"+ws+"/mod.txt\n+++ b"+ws+"/mod.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n", mod.Diff)
	require.Equal(t, 2, mod.Additions)
	require.Equal(t, 1, mod.Deletions)
	require.Equal(t, "workspace", mod.Root)
	require.Equal(t, int64(14), *mod.SizeBefore)
	require.NotEqual(t, mod.SHA256Before, mod.SHA256After)

	created := byName["outputs/new.md"]
	require.Nil(t, created.SizeBefore)
	require.Equal(t, "--- /dev/null\n+++ b"+out+"/new.md\n@@ -0,0 +1 @@\n+# N\n", created.Diff)
	require.Nil(t, byName["workspace/gone.txt"].SizeAfter)
	require.Contains(t, byName["workspace/gone.txt"].Diff, "-a\n-b\n")
	link := byName["workspace/link"]
	require.Equal(t, Created, link.Status)
	require.Equal(t, "/etc/passwd", link.Link)
	require.Equal(t, NoDiffBinary, byName["workspace/bin"].NoDiff)
	secret := byName["workspace/key.pem"]
	require.Equal(t, NoDiffSensitive, secret.NoDiff)
	require.Empty(t, secret.Diff)
	require.Zero(t, between(nil, nil))
}

func TestWhatIsNotKnownIsNotGuessed(t *testing.T) {
	t.Parallel()
	files := map[string]string{ws + "/a": "a", ws + "/b": "b"}
	fewer := map[string]string{ws + "/a": "changed"}
	before, after := survey(files), survey(fewer)
	after.Truncated = true
	c := Between(before, after, kept(files), kept(fewer))
	require.Equal(t, Summary{Modified: 1, Additions: 1, Deletions: 1, Truncated: true}, c.Summary, "b may not have been looked at")
	before, after = survey(fewer), survey(files)
	before.Truncated = true
	c = Between(before, after, kept(fewer), kept(files))
	require.Zero(t, c.Summary.Created)

	none := func(string) (string, bool) { return "", false }
	c = Between(survey(files), survey(fewer), none, kept(fewer))
	for _, f := range c.Files {
		require.Equal(t, NoDiffLarge, f.NoDiff)
	}

	// A large file has no hash: size and time tell.
	old, now := survey(map[string]string{ws + "/big": "x"}), survey(map[string]string{ws + "/big": "x"})
	old.Files[0].Hash, now.Files[0].Hash = "", ""
	require.Empty(t, Between(old, now, none, none).Files)
	now.Files[0].ModTime = time.Unix(2, 0)
	require.Len(t, Between(old, now, none, none).Files, 1)
}

func TestBoundsOfChanges(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range MaxFiles + 10 {
		many[fmt.Sprintf("%s/f%04d", ws, i)] = "x\n"
	}
	c := between(nil, many)
	require.Len(t, c.Files, MaxFiles)
	require.Equal(t, MaxFiles+10, c.Summary.Created, "all are counted")
	require.True(t, c.Summary.Truncated)

	large := map[string]string{ws + "/a": strings.Repeat("line\n", MaxDiff/5)}
	c = between(nil, large)
	require.Equal(t, NoDiffLarge, c.Files[0].NoDiff)
	require.Equal(t, MaxDiff/5, c.Summary.Additions, "lines are counted all the same")

	several := map[string]string{}
	for i := range 2 * MaxDiffTotal / MaxDiff {
		several[fmt.Sprintf("%s/f%04d", ws, i)] = strings.Repeat("line\n", MaxDiff/7)
	}
	c = between(nil, several)
	require.Equal(t, NoDiffTruncated, c.Files[len(c.Files)-1].NoDiff)
	total := 0
	for _, f := range c.Files {
		total += len(f.Diff)
	}
	require.LessOrEqual(t, total, MaxDiffTotal)
}

func TestIsSensitive(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".env": true, ".env.local": true, "id_rsa": true, "server.KEY": true, "credentials.json": true, "cert.pem": true,
		"env.md": false, "keys.md": false, "report.md": false, "id_rsa.pub": false,
	} {
		require.Equal(t, want, IsSensitive(ws+"/"+name), name)
	}
}
