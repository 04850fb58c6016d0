package daemon

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func daemonIn(t *testing.T, dir string) *Daemon {
	t.Helper()
	d := &Daemon{dataDir: dir, log: slog.New(slog.DiscardHandler), say: func(string) {}}
	t.Cleanup(d.unwind)
	return d
}

func TestWorkersOnOneHostHaveDifferentNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := daemonIn(t, dir), daemonIn(t, dir)
	a, err := first.claimIdentity()
	require.NoError(t, err)
	b, err := second.claimIdentity()
	require.NoError(t, err)
	require.True(t, a.sole)
	require.True(t, b.sole)
	require.NotEqual(t, a.name, b.name)

	first.unwind()
	again, err := daemonIn(t, dir).claimIdentity()
	require.NoError(t, err)
	require.Equal(t, a, again, "who comes after a dead worker gets its name")
	elsewhere, err := daemonIn(t, t.TempDir()).claimIdentity()
	require.NoError(t, err)
	require.NotEqual(t, a.name, elsewhere.name, "names of two data directories differ, also on one host")
}

func TestIdentityNeedsADataDirectoryThatCanBeWritten(t *testing.T) {
	t.Parallel()
	_, err := daemonIn(t, "/proc/nowhere").claimIdentity()
	var mistake *UsageError
	require.ErrorAs(t, err, &mistake)
	require.ErrorContains(t, err, "/proc/nowhere cannot be written to")
}
