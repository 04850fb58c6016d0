package testkit

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRunCLI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, errs, code := RunCLI(t, []string{"threads", "list"}, CLIOptions{
		BinaryPath: self(t),
		Stdin:      strings.NewReader("typed"),
		Env:        []string{fakeEnv + "=cli", "EXTRA=1"},
		Dir:        dir,
	})
	require.Equal(t, "args [threads list]\nstdin typed\ndir "+dir+"\nextra 1\nhome "+dir+"\nserver \"\"\n", out)
	require.Equal(t, "to stderr\n", errs)
	require.Equal(t, 5, code)

	out, _, _ = RunCLI(t, nil, CLIOptions{BinaryPath: self(t), Env: []string{fakeEnv + "=cli"}})
	require.Contains(t, out, "stdin \n")
}

func TestRunCLITimeout(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	_, _, code := RunCLI(s, []string{"chat"}, CLIOptions{
		BinaryPath: self(t),
		Env:        []string{fakeEnv + "=hang"},
		Timeout:    50 * time.Millisecond,
	})
	require.Equal(t, -1, code)
	require.Contains(t, s.text(), "deerflow chat still ran after 50ms")
}

func TestRunCLINoBinary(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	require.Contains(t, s.do(func() { RunCLI(s, nil, CLIOptions{BinaryPath: "/nonexistent/deerflow"}) }), "no such file")
}
