package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInspectChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deerflow.db")
	s, err := Inspect(t.Context(), Options{Path: path})
	require.NoError(t, err)
	require.Zero(t, s.Found)
	require.Positive(t, s.Known)
	require.NoFileExists(t, path)

	st, err := Open(t.Context(), Options{Path: path})
	require.NoError(t, err)
	s, err = Inspect(t.Context(), Options{Path: path})
	require.NoError(t, err, "beside a server that has it open")
	require.Equal(t, s.Known, s.Found)
	require.NoError(t, st.Close())

	require.NoError(t, os.WriteFile(path, []byte("this is no database, whatever its name is"), 0o600))
	_, err = Inspect(t.Context(), Options{Path: path})
	require.ErrorContains(t, err, path)
	_, err = Inspect(t.Context(), Options{URL: "postgres://u:secret-word@127.0.0.1:1/x?connect_timeout=1"})
	require.ErrorContains(t, err, "x on 127.0.0.1:1")
	require.NotContains(t, err.Error(), "secret-word")
}
