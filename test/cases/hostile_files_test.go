package cases

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// What a command leaves in the files of its thread, and what the server was started
// with, gets nobody further, and hides nothing from those who look afterwards.
func TestHostileFiles(t *testing.T) {
	NeedBubblewrap(t)
	host := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(host, "secret.txt"), []byte("sk-of-the-host"), 0o600))
	started := filepath.Join(t.TempDir(), "deerflow")
	require.NoError(t, os.WriteFile(started, []byte(fmt.Sprintf("#!/bin/bash\nulimit -n 4096\nexec 77<%q\nexec %q \"$@\"\n", host, Binary(t))), 0o700))
	m := NewModel(t)
	p := StartDev(t, DevOptions{BinaryPath: started, Config: WalledConfigFor(m)})
	api := p.API()
	command := func(t *testing.T, id, mark, line string) (Run, string) {
		t.Helper()
		m.On(LastUser(mark)).Respond(ByTurn(ToolCalls(sh(line)), Text("fine")))
		r := run(t, api, id, mark)
		require.Equal(t, "success", r.Status)
		list := messages(t, api, id)
		return r, list[len(list)-2].Text()
	}

	t.Run("inherited descriptor", func(t *testing.T) {
		_, text := command(t, newThread(t, api), "descriptor", "cat /proc/self/fd/77/secret.txt; echo x > /proc/self/fd/77/made.txt; ls /proc/self/fd/; echo end")
		require.Contains(t, text, "end")
		require.NotContains(t, text, "sk-of-the-host")
		require.NotContains(t, text, "\n77\n")
		require.NoFileExists(t, filepath.Join(host, "made.txt"))
	})
	t.Run("replaced directory", func(t *testing.T) {
		id := newThread(t, api)
		_, text := command(t, id, "replace", "rm -rf /mnt/user-data/workspace && ln -s /mnt/user-data/outputs /mnt/user-data/workspace")
		require.Contains(t, text, "/mnt/user-data/workspace.replaced-1")
		_, text = command(t, id, "afterwards", "echo made > a.txt; cat a.txt; pwd")
		require.Contains(t, text, "made\n/mnt/user-data/workspace")
		require.NotContains(t, text, "replaced")
	})
	t.Run("deep tree", func(t *testing.T) {
		id := newThread(t, api)
		r, _ := command(t, id, "deep", "python3 -c 'import os\nfor i in range(6000): os.mkdir(\"d\"); os.chdir(\"d\")'; echo hello > /mnt/user-data/outputs/real.md")
		c := changesOf(t, p, id, r.RunID)
		require.True(t, c.Available)
		require.True(t, c.Summary.Truncated)
		require.Len(t, c.Files, 1)
		require.Equal(t, "/mnt/user-data/outputs/real.md", c.Files[0].Path)
		r, _ = command(t, id, "again", "echo more > /mnt/user-data/outputs/more.md")
		require.Len(t, changesOf(t, p, id, r.RunID).Files, 1)
		_, err := api.CopyThread(patient(t), id)
		require.Equal(t, http.StatusConflict, StatusOf(err))
		require.NoError(t, api.DeleteThread(patient(t), id))
		require.NoDirExists(t, filepath.Dir(userDir(p, id)))
	})
}
