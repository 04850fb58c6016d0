package config

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// desk is a directory with a config that is being edited.
type desk struct {
	t      *testing.T
	dir    string
	source *Source
	logged bytes.Buffer
}

func newDesk(t *testing.T, files ...string) *desk {
	t.Helper()
	d := &desk{t: t, dir: write(t, files...)}
	var err error
	d.source, _, err = Open(Options{Dir: d.dir, Getenv: env()})
	require.NoError(t, err)
	d.source.LogTo(slog.New(slog.NewTextHandler(&d.logged, nil)))
	return d
}

// edit writes a file as an editor does that writes in place.
func (d *desk) edit(name, content string) {
	d.t.Helper()
	require.NoError(d.t, os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o600))
}

// shows waits until the edit is in force.
func (d *desk) shows(what string, seen func(*Config) bool) {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return seen(d.source.Current()) }, 10*time.Second, 5*time.Millisecond, what)
}

func turns(n int) func(*Config) bool { return func(c *Config) bool { return c.Thread.MaxTurns == n } }

func (d *desk) lines(part string) int { return strings.Count(d.logged.String(), part) }

func TestAnEditIsSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t, FileName, demoModels+"thread: {max_turns: 11}\n")
	first := d.source.Current()
	require.Same(t, first, d.source.Current(), "nothing is read again without an edit")
	d.edit(FileName, demoModels+"thread: {max_turns: 12}\n")
	d.shows("an edit", turns(12))
	require.Equal(t, 11, first.Thread.MaxTurns, "what was handed out stays as it was")
	require.Equal(t, 1, d.lines("The configuration was edited"))
}

// Two edits of the same size within one tick of the file system's clock.
func TestTwoEditsWithinASecond(t *testing.T) {
	t.Parallel()
	d := newDesk(t, FileName, demoModels+"thread: {max_turns: 11}\n")
	path := filepath.Join(d.dir, FileName)
	tick := time.Now().Add(-time.Minute)
	d.source.now = func() time.Time { return tick.Add(time.Second) }
	for _, n := range []int{12, 13} {
		d.edit(FileName, demoModels+fmt.Sprintf("thread: {max_turns: %d}\n", n))
		require.NoError(t, os.Chtimes(path, tick, tick))
		require.Equal(t, n, d.source.Current().Thread.MaxTurns)
	}
}

func TestAHalfWrittenFileIsNotRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, FileName, demoModels+"thread: {max_turns: 11}\n")
	d.edit(FileName, "")
	frozen := time.Now()
	require.NoError(t, os.Chtimes(filepath.Join(d.dir, FileName), frozen, frozen))
	d.source.now = func() time.Time { return frozen.Add(settleTime - 1) }
	require.Equal(t, 11, d.source.Current().Thread.MaxTurns)
	d.source.now = func() time.Time { return frozen.Add(settleTime) }
	require.Equal(t, 100, d.source.Current().Thread.MaxTurns)
}

func TestABrokenEditLeavesTheLastGoodOneInForce(t *testing.T) {
	t.Parallel()
	const good = demoModels + "thread: {max_turns: 11}\n"
	d := newDesk(t, FileName, good)
	const mistakes = "The configuration that was edited has mistakes"

	d.edit(FileName, "thread: {max_trns: 12}\n")
	d.shows("the mistake in the log", func(*Config) bool { return d.lines(mistakes) > 0 })
	for range 5 {
		require.Equal(t, 11, d.source.Current().Thread.MaxTurns)
	}
	require.Equal(t, 1, d.lines(mistakes), "once")
	require.Contains(t, d.logged.String(), "unknown key max_trns; did you mean max_turns?")

	d.edit(FileName, "thread: [\n")
	d.shows("another mistake", func(*Config) bool { return d.lines(mistakes) == 2 })
	require.Equal(t, 11, d.source.Current().Thread.MaxTurns)

	d.edit(FileName, good)
	d.shows("that it is put right", func(*Config) bool { return d.lines("The configuration was edited") == 1 })
	d.edit(FileName, demoModels+"thread: {max_turns: 13}\n")
	d.shows("the next edit", turns(13))

	require.NoError(t, os.Rename(filepath.Join(d.dir, FileName), filepath.Join(d.dir, "away.yaml")))
	for range 3 {
		require.Equal(t, 13, d.source.Current().Thread.MaxTurns, "a file that is gone is no empty one")
	}
	require.Equal(t, 3, d.lines(mistakes))
	require.Contains(t, d.logged.String(), "the config file is gone")
	require.NoError(t, os.Rename(filepath.Join(d.dir, "away.yaml"), filepath.Join(d.dir, FileName)))
	require.Equal(t, 13, d.source.Current().Thread.MaxTurns)
	require.NoError(t, os.Remove(filepath.Join(d.dir, FileName)))
	d.source.Current()
	require.Equal(t, 4, d.lines(mistakes), "it was there again meanwhile")
}

func TestAFileThatAppearsIsSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.Empty(t, d.source.Current().Path)
	d.edit(FileName, demoModels+"thread: {max_turns: 12}\n")
	d.shows("the new file", turns(12))
}

func TestVariablesBesideTheConfigAreSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t, FileName, "models: [{name: a, use: openai, model: m, api_key: $KEY}]\n", ".env", "KEY=one\n")
	require.Equal(t, "one", d.source.Current().Models[0].APIKey.Reveal())
	d.edit(".env", "KEY=two\n")
	d.shows("the new key", func(c *Config) bool { return c.Models[0].APIKey.Reveal() == "two" })
	require.NoError(t, os.Remove(filepath.Join(d.dir, ".env")))
	d.shows("the mistake", func(*Config) bool { return strings.Contains(d.logged.String(), "variable KEY is not set") })
	require.Equal(t, "two", d.source.Current().Models[0].APIKey.Reveal())
	require.NotContains(t, d.logged.String(), "two", "no secret is logged")
}

// Sections that a process has built something on wait for a restart.
func TestSectionsThatWaitForARestart(t *testing.T) {
	t.Parallel()
	d := newDesk(t, FileName, demoModels+"sandbox: {allow_host_bash: false}\nlog_level: info\n")
	const edited = demoModels + "sandbox: {allow_host_bash: true}\nlog_level: debug\nserver: {allowed_hosts: [a.example.com]}\n" +
		"auth: {enabled: true}\nllm_call: {max_concurrent_calls: 3, retry_max_attempts: 7}\nthread: {max_turns: "
	d.edit(FileName, edited+"12}\n")
	d.shows("what does not wait", turns(12))
	c := d.source.Current()
	require.False(t, c.Sandbox.AllowHostBash)
	require.EqualValues(t, "info", c.LogLevel)
	require.Equal(t, ToggleAuto, c.Auth.Enabled)
	require.Empty(t, c.Server.AllowedHosts)
	require.Zero(t, c.LLMCall.MaxConcurrentCalls)
	require.Equal(t, 7, c.LLMCall.RetryMaxAttempts, "its neighbours do not wait")
	const told = `settings="log_level, sandbox, auth, server, llm_call.max_concurrent_calls"`
	require.Equal(t, 1, d.lines(told))

	d.edit(FileName, edited+"13}\n")
	d.shows("another edit", turns(13))
	require.Equal(t, 1, d.lines(told), "told once")

	d.edit(FileName, demoModels+"sandbox: {use: dokcer}\nthread: {max_turns: 14}\n")
	d.shows("a sandbox that is not there", func(*Config) bool { return strings.Contains(d.logged.String(), "unknown sandbox") })
	require.Empty(t, d.source.Current().Sandbox.Use)
	require.Equal(t, 13, d.source.Current().Thread.MaxTurns, "one mistake holds the whole file up")
}

func TestOpenRefusesABrokenFile(t *testing.T) {
	t.Parallel()
	_, _, err := Open(Options{Dir: write(t, FileName, "thread: 3\n"), Getenv: env()})
	require.ErrorContains(t, err, "config.yaml:1: thread: want keys and values")
	_, _, err = Open(Options{Path: filepath.Join(t.TempDir(), "none.yaml"), Getenv: env()})
	require.ErrorContains(t, err, "no such config file")
}

// Many readers while the file is edited: for the race detector.
func TestManyReaders(t *testing.T) {
	t.Parallel()
	d := newDesk(t, FileName, demoModels+"thread: {max_turns: 11}\n")
	done := make(chan struct{})
	for range 8 {
		go func() {
			for range 200 {
				_ = d.source.Current().Models[0].Name
			}
			done <- struct{}{}
		}()
	}
	for n := range 5 {
		d.edit(FileName, demoModels+strings.Repeat("# more\n", n))
	}
	for range 8 {
		<-done
	}
	d.edit(FileName, demoModels+"thread: {max_turns: 15}\n")
	d.shows("the last edit", turns(15))
}
