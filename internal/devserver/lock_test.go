package devserver

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A killed process must not leave the directory locked, and its number must be named while it lives.
func TestLockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holdLockEnv+"="+dir)
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", line)

	_, err = lockDir(dir)
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, cmd.Process.Pid, locked.PID)
	require.ErrorContains(t, err, dir)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	lock, err := lockDir(dir)
	require.NoError(t, err)
	require.NoError(t, lock.release())
}

func TestLockFileWithoutProcessID(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "who knows", "-4", "99999999999999999999999999999999999999"} {
		path := filepath.Join(t.TempDir(), lockFile)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		f, err := os.Open(path)
		require.NoError(t, err)
		require.Zero(t, readPID(f))
		require.NoError(t, f.Close())
	}
	require.Equal(t, "the data directory /d is in use by another process: stop it first, or use another data directory",
		(&LockedError{Dir: "/d"}).Error())
}

func TestLockIsTakenOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := lockDir(dir)
	require.NoError(t, err)
	_, err = lockDir(dir)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, first.release())
	second, err := lockDir(dir)
	require.NoError(t, err)
	require.NoError(t, second.release())
}
