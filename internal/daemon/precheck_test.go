package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/config"
)

func TestAFileThatIsNoDatabaseIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := &Daemon{dataDir: dir, Config: &config.Config{}}
	require.NoError(t, d.checkDatabase(t.Context()), "there is none yet")
	path := filepath.Join(dir, storeFile)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, d.checkDatabase(t.Context()), "an empty file is an empty database")
	require.NoError(t, os.WriteFile(path, []byte("my notes"), 0o600))
	err := d.checkDatabase(t.Context())
	var mistake *UsageError
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, 1, strings.Count(err.Error(), path))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing was written")
}
