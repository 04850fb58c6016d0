package change

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/temporalproto"

	"deerflow/workflows"
)

// recordEnv names the directory that histories are recorded in, from the root of
// the repository.
const recordEnv = "DEERFLOW_RECORD_HISTORIES"

// record writes the histories of a shape for the replay tests, when asked to. One
// that was recorded before, with this version of the loop, stays as it is: it is
// what a run in flight may have.
func record(t *testing.T, name string, list []execution) {
	t.Helper()
	root := os.Getenv(recordEnv)
	if root == "" {
		return
	}
	dir := filepath.Join("../..", root, fmt.Sprintf("v%d", workflows.LoopVersion))
	require.NoError(t, os.MkdirAll(dir, 0o750))
	if old, err := filepath.Glob(filepath.Join(dir, name+"-*.json.gz")); err != nil || len(old) > 0 {
		require.NoError(t, err)
		t.Logf("%s is recorded already", name)
		return
	}
	for n, e := range list {
		data, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(e.history)
		require.NoError(t, err)
		writePacked(t, filepath.Join(dir, fmt.Sprintf("%s-%d.json.gz", name, n+1)), data)
	}
}

func writePacked(t *testing.T, path string, data []byte) {
	t.Helper()
	file, err := os.Create(filepath.Clean(path))
	require.NoError(t, err)
	packed := gzip.NewWriter(file)
	_, err = packed.Write(data)
	require.NoError(t, err)
	require.NoError(t, packed.Close())
	require.NoError(t, file.Close())
}
