package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/cli"
	"deerflow/internal/cli/fakeserver"
	"deerflow/internal/thread"
)

// shell runs command lines against an App of its own.
type shell struct {
	App
	env         map[string]string
	out, errOut bytes.Buffer
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := &shell{env: map[string]string{"DEERFLOW_DATA_DIR": t.TempDir()}}
	s.App = App{
		IOStreams: cli.IOStreams{In: strings.NewReader(""), Out: &s.out, ErrOut: &s.errOut},
		Env:       func(name string) string { return s.env[name] },
		Signals:   make(chan os.Signal), Exit: func(int) { panic("exit") },
		DefaultServer: "http://127.0.0.1:1",
		BuildInfo: func() (*debug.BuildInfo, bool) {
			return &debug.BuildInfo{
				Main:     debug.Module{Version: "v1.2.3"},
				Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}},
			}, true
		},
	}
	return s
}

func (s *shell) do(args ...string) int {
	s.out.Reset()
	s.errOut.Reset()
	return execute(s.App, args)
}

func answering(text string) fakeserver.Run {
	return fakeserver.Run{Messages: []thread.Message{{ID: "a", Role: thread.RoleAI, Content: thread.Text(text)}}}
}

func TestRunAsksTheServerOfTheFlagOrTheEnvironment(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t)
	server.APIKey = "k"
	server.Script = []fakeserver.Run{answering("By flag."), answering("By environment.")}
	file := filepath.Join(t.TempDir(), "a.txt")
	other := filepath.Join(t.TempDir(), "b.txt")
	require.NoError(t, os.WriteFile(file, []byte("A"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("B"), 0o600))
	s := newShell(t)
	require.Equal(t, 0, s.do("run", "--server", server.URL, "--api-key", "k", "Why?", file, "-f", other), s.errOut.String())
	require.Equal(t, "By flag.\n", s.out.String())
	require.Len(t, server.Uploads(), 2)

	s.env["DEERFLOW_SERVER"], s.env["DEERFLOW_API_KEY"] = server.URL, "k"
	require.Equal(t, 0, s.do("run", "-o", "json", "-q", "Why?"), s.errOut.String())
	require.Empty(t, s.errOut.String())
	var result struct{ Answer string }
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &result))
	require.Equal(t, "By environment.", result.Answer)
}

func TestExitCodesOfRun(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t)
	server.Script = []fakeserver.Run{{Status: thread.RunError, Error: "disk full"}, {StopReason: "turn_capped"}}
	s := newShell(t)
	for _, c := range []struct {
		code int
		args string
		want string
	}{
		{1, "run --server URL why", "deerflow: the run failed: disk full\n"},
		{3, "run --server URL why", "deerflow: the run ended early (turn_capped)"},
		{2, "run", "deerflow: a question is needed, or - to read it from standard input\nRun 'deerflow run --help' for usage.\n"},
		{2, "run why missing.txt", "missing.txt"},
		{2, "run --colour why", "unknown flag: --colour\nRun 'deerflow run --help' for usage.\n"},
		{2, "run -o yaml why", "use text, json or jsonl"},
		{2, "run --timeout soon why", "invalid argument"},
		{2, "walk", `unknown command "walk" for "deerflow"`},
		{2, "runn", `unknown command "runn" for "deerflow"; did you mean: run` + "\nRun"},
		{2, "version now", "unknown command"},
		{10, "run --server http://127.0.0.1:1 why", "no DeerFlow server at http://127.0.0.1:1"},
		{10, "run why", "start one with 'deerflow dev --data-dir "},
		{11, "run --server URL --thread t9 why", "there is no thread t9 on URL"},
		{2, "run --server foo why", `the server address "foo": want http://host:port`},
		{2, "threads list --server foo", `the server address "foo": want http://host:port`},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "URL", server.URL))
		require.Equal(t, c.code, s.do(args...), "%s: %s", c.args, &s.errOut)
		require.Contains(t, s.errOut.String(), strings.ReplaceAll(c.want, "URL", server.URL), c.args)
		require.Empty(t, s.out.String(), c.args)
	}
}

func TestQuestionThatNobodyAnswersRepeatsTheFlagsOfTheCommand(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t)
	server.Known = []string{"t1"}
	card := thread.Card{RequestID: "q1", Question: "Which?", InputMode: thread.InputFreeText}
	server.Script = []fakeserver.Run{{Questions: []thread.Interrupt{{ID: "q1", Value: card}}}}
	s := newShell(t)
	require.Equal(t, 4, s.do("run", "--no-input", "--thread", "t1", "--server", server.URL, "--data-dir", "d", "--api-key", "k", "why"))
	require.Contains(t, s.errOut.String(), "\n  deerflow run --server "+server.URL+" --data-dir d --thread t1 --attach\n")
	require.NotContains(t, s.errOut.String(), "--api-key")
}

func TestRunStartsAServerWhereThereIsNone(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t)
	server.Script = []fakeserver.Run{answering("Own.")}
	s := newShell(t)
	s.env["DEER_FLOW_CONFIG_PATH"] = "there.yaml"
	var got DevOptions
	stopped := false
	s.StartServer = func(_ context.Context, o DevOptions) (string, func(context.Context) error, error) {
		got = o
		return server.URL, func(context.Context) error { stopped = true; return nil }, nil
	}
	require.Equal(t, 0, s.do("run", "Why?"), s.errOut.String())
	require.Equal(t, "Own.\n", s.out.String())
	require.True(t, stopped)
	require.Equal(t, DevOptions{ConfigPath: "there.yaml", DataDir: s.env["DEERFLOW_DATA_DIR"], Listen: "127.0.0.1:0"}, got)
}

func TestAChosenDataDirectoryIsNotServedByTheUsualServer(t *testing.T) {
	t.Parallel()
	usual, own := fakeserver.New(t), fakeserver.New(t)
	own.Script = []fakeserver.Run{answering("Own.")}
	s := newShell(t)
	s.DefaultServer, s.Program = usual.URL, "bin/deerflow"
	started := 0
	s.StartServer = func(context.Context, DevOptions) (string, func(context.Context) error, error) {
		started++
		return own.URL, func(context.Context) error { return nil }, nil
	}
	require.Equal(t, 0, s.do("run", "Why?"), s.errOut.String())
	require.Equal(t, 1, started)
	require.Equal(t, 10, s.do("threads", "list", "--data-dir", "my data"))
	require.Contains(t, s.errOut.String(), "no DeerFlow server runs on the data directory my data; start one with 'bin/deerflow dev --data-dir ")
	s.env["DEERFLOW_DATA_DIR"] = ""
	require.Equal(t, 0, s.do("threads", "list"), s.errOut.String())
	require.Contains(t, s.errOut.String(), "bin/deerflow run \"...\"")
}

func TestHelpUsesTheNameOfTheCall(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.Program = "bin/deerflow"
	require.Equal(t, 0, s.do("run", "--help"))
	require.Contains(t, s.out.String(), "  bin/deerflow run QUESTION [FILE...]")
	require.Contains(t, s.out.String(), "  bin/deerflow run --thread ID --attach")
	require.Equal(t, "bin/deerflow run --data-dir 'my data'", askCommand(s.App, "my data"))
	require.Equal(t, "bin/deerflow run", askCommand(s.App, defaultDataDir))
}

func TestDevSaysThatItsOwnServerRuns(t *testing.T) {
	t.Parallel()
	server, dir := fakeserver.New(t), t.TempDir()
	taken := fmt.Errorf("cannot listen: %w", syscall.EADDRINUSE)
	require.Equal(t, taken, alreadyRunning(t.Context(), dir, taken), "nothing is announced")
	announce := func(url string) {
		text := fmt.Sprintf(`{"pid":42,"url":%q}`, url)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "server.json"), []byte(text), 0o600))
	}
	announce("http://127.0.0.1:1")
	require.Equal(t, taken, alreadyRunning(t.Context(), dir, taken), "it was killed")
	announce(server.URL)
	require.ErrorContains(t, alreadyRunning(t.Context(), dir, taken), "runs already: "+server.URL+", process 42")
	other := errors.New("other")
	require.Equal(t, other, alreadyRunning(t.Context(), dir, other))
}

func TestVersion(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	require.Equal(t, 0, s.do("version"))
	require.Equal(t, "deerflow v1.2.3\ncommit   abc with local changes of 2026-01-02T03:04:05Z\ngo       "+runtime.Version()+
		"\nplatform "+runtime.GOOS+"/"+runtime.GOARCH+"\n", s.out.String())
	require.Equal(t, 0, s.do("version", "-o", "json"))
	var v versionInfo
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &v))
	require.Equal(t, versionInfo{
		Version: "v1.2.3", Commit: "abc", Time: "2026-01-02T03:04:05Z", Modified: true, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}, v)
	s.BuildInfo = func() (*debug.BuildInfo, bool) { return nil, false }
	require.Equal(t, 0, s.do("version"))
	require.Contains(t, s.out.String(), "deerflow unknown\ncommit   unknown\n")
}

func TestHelpNamesTheExitCodes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	require.Equal(t, 0, s.do("run", "--help"))
	for _, piece := range []string{"124  the time limit", "--cancel-on-interrupt", "DEERFLOW_SERVER", `"event": "result"`} {
		require.Contains(t, s.out.String(), piece)
	}
	require.Equal(t, 0, s.do())
	require.Contains(t, s.out.String(), "Exit codes:")
	for line := range strings.SplitSeq(s.out.String(), "\n") {
		require.LessOrEqual(t, len(line), 120)
	}
}
