package tools

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
)

// 10.15-6
func TestPresentFiles(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	out := sandbox.Outputs
	host := filepath.Join(k.root, "u1/threads/t1/user-data/outputs")
	k.write(out+"/a.md", "x")
	k.write(out+"/sub/b.md", "x")
	k.write(ws+"/draft.md", "x")
	r := k.call("present_files", a{"filepaths": []string{out + "/a.md", filepath.Join(host, "sub/b.md"), out + "//a.md"}})
	require.Equal(t, "Successfully presented files", r.Text)
	require.Equal(t, []string{out + "/a.md", out + "/sub/b.md"}, r.State.Artifacts)
	require.Equal(t, []string{out + "/a.md"}, k.call("present_files", a{"filepaths": out + "/a.md"}).State.Artifacts)
	require.Equal(t, []string{out + "/a.md"}, k.call("present_files", a{"filepaths": `["` + out + `/a.md"]`}).State.Artifacts)

	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("x"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(host, "escape.md")))
	require.NoError(t, os.Symlink("../workspace/draft.md", filepath.Join(host, "sideways.md")))
	require.NoError(t, os.Symlink("a.md", filepath.Join(host, "inside.md")))
	require.Equal(t, []string{out + "/inside.md"}, k.call("present_files", a{"filepaths": []string{out + "/inside.md"}}).State.Artifacts)
	for _, bad := range []string{
		ws + "/draft.md", "draft.md", "/etc/passwd", out, out + "/../workspace/draft.md", out + "-old/x", out + "/escape.md",
		out + "/sideways.md", filepath.Join(k.root, "u2/threads/t2/user-data/outputs/x"), "",
	} {
		r := k.fails("present_files", a{"filepaths": []string{out + "/a.md", bad}}, "Only files in "+out+" can be presented")
		require.True(t, r.State.IsZero(), bad)
	}
	k.fails("present_files", a{"filepaths": []string{out + "/sub"}}, "directory")
	k.fails("present_files", a{"filepaths": []string{out + "/gone.md"}}, "File not found: "+out+"/gone.md")
	k.fails("present_files", a{"filepaths": []string{}}, `"filepaths"`)
	k.fails("present_files", a{}, `"filepaths"`)
	k.fails("present_files", a{"filepaths": []any{1, a{}}}, `"filepaths"`)
	k.fails("present_files", a{"filepaths": make([]string, 101)}, "at most 100")
}
