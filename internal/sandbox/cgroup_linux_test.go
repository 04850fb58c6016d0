package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Plain directories stand for the groups of both versions.
func TestPidsParent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for dir, enabled := range map[string]string{
		"": "cpu pids", "system.slice": "cpuset cpu memory pids", "user.slice": "cpu", "user.slice/a.scope": "", "pids/docker/x": "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(root, dir, "cgroup.subtree_control"), []byte(enabled+"\n"), 0o600))
	}
	for own, want := range map[string]string{
		"0::/system.slice/deerflow.service\n":     "system.slice",
		"0::/user.slice/a.scope/b\n":              "", // the nearest that has it
		"0::/\n":                                  "none",
		"9:cpu:/\n8:pids:/docker/x\n0::/\n":       "pids/docker/x",
		"8:pids:/elsewhere\n0::/system.slice/a\n": "system.slice",
		"nonsense\n":                              "none",
		"":                                        "none",
		"4:memory,pids:/docker/x\n":               "pids/docker/x",
		"0::/../../etc\n":                         "",
	} {
		got := pidsParent(root, own, func(dir string) bool {
			info, err := os.Stat(dir)
			return err == nil && info.IsDir()
		})
		if want == "none" {
			require.Empty(t, got, own)
			continue
		}
		require.Equal(t, filepath.Join(root, want), got, own)
	}
}
