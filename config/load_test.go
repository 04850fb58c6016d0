package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// env is a Lookup over fixed variables.
func env(pairs ...string) Lookup {
	vars := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// write puts files (name, content, ...) into a new directory.
func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600))
	}
	return dir
}

// load parses text that must be valid.
func load(t *testing.T, text string, vars ...string) (*Config, string) {
	t.Helper()
	c, warnings, err := parse("c.yaml", []byte(text), env(vars...))
	require.NoError(t, err)
	return c, lines(warnings)
}

// fails parses text that must be refused and returns the error's lines.
func fails(t *testing.T, text string, vars ...string) string {
	t.Helper()
	c, _, err := parse("c.yaml", []byte(text), env(vars...))
	require.Error(t, err)
	require.Nil(t, c)
	for line := range strings.SplitSeq(err.Error(), "\n") {
		require.Regexp(t, `^c\.yaml:`, line, "every error is one line that begins with its place")
	}
	return err.Error()
}

func lines(warnings []Warning) string {
	text := make([]string, len(warnings))
	for i, w := range warnings {
		text[i] = w.String()
	}
	return strings.Join(text, "\n")
}

func TestLoadFindsTheFile(t *testing.T) {
	t.Parallel()
	const marker = "max_recursion_limit: "
	dir := write(t, "config.yaml", marker+"1", "flag.yaml", marker+"2", "ours.yaml", marker+"3", "theirs.yaml", marker+"4")
	tests := map[string]struct {
		path string
		vars []string
		want int
	}{
		"flag first":          {"flag.yaml", []string{"DEERFLOW_CONFIG", "ours.yaml"}, 2},
		"our variable":        {"", []string{"DEERFLOW_CONFIG", "ours.yaml", "DEER_FLOW_CONFIG_PATH", "theirs.yaml"}, 3},
		"DeerFlow's variable": {"", []string{"DEER_FLOW_CONFIG_PATH", filepath.Join(dir, "theirs.yaml")}, 4},
		"empty is not set":    {"", []string{"DEERFLOW_CONFIG", ""}, 1},
		"the directory":       {"", nil, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, err := Load(Options{Path: tt.path, Dir: dir, Getenv: env(tt.vars...)})
			require.NoError(t, err)
			require.Equal(t, tt.want, c.MaxRecursionLimit)
			require.Equal(t, dir, filepath.Dir(c.Path))
		})
	}
}

func TestLoadWithoutAFile(t *testing.T) {
	t.Parallel()
	dir := write(t, ".env", "SOME_KEY=from-dotenv")
	c, warnings, err := Load(Options{Dir: dir, Getenv: env()})
	require.NoError(t, err)
	require.Equal(t, []Model{DemoModel()}, c.Models)
	require.Equal(t, StandardTools(), c.Tools)
	require.Empty(t, c.Path)
	require.Len(t, warnings, 1)
	for _, place := range []string{"DEERFLOW_CONFIG", "DEER_FLOW_CONFIG_PATH", filepath.Join(dir, "config.yaml")} {
		require.Contains(t, warnings[0].String(), place)
	}
	value, ok := c.Getenv("SOME_KEY")
	require.True(t, ok)
	require.Equal(t, "from-dotenv", value)
}

func TestLoadRefusesAFileThatIsNamedAndCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := write(t, "closed.yaml", "log_level: info")
	tests := map[string]struct {
		options Options
		want    string
	}{
		"flag":                  {Options{Path: "none.yaml", Getenv: env()}, "none.yaml: no such config file (named by --config)"},
		"variable":              {Options{Getenv: env("DEERFLOW_CONFIG", "none.yaml")}, "named by DEERFLOW_CONFIG"},
		"variable2":             {Options{Getenv: env("DEER_FLOW_CONFIG_PATH", "none.yaml")}, "named by DEER_FLOW_CONFIG_PATH"},
		"directory":             {Options{Path: ".", Getenv: env()}, "is a directory"},
		"a file as a directory": {Options{Path: "closed.yaml/x", Getenv: env()}, "not a directory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.options.Dir = dir
			c, _, err := Load(tt.options)
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, c)
			var place *Error
			require.ErrorAs(t, err, &place)
			require.Contains(t, place.File, dir)
		})
	}
	if os.Geteuid() != 0 { // root reads everything
		require.NoError(t, os.Chmod(filepath.Join(dir, "closed.yaml"), 0))
		_, _, err := Load(Options{Path: "closed.yaml", Dir: dir, Getenv: env()})
		require.ErrorContains(t, err, "permission denied")
	}
}

func TestLoadRefusesAHugeFile(t *testing.T) {
	t.Parallel()
	dir := write(t, "config.yaml", strings.Repeat("# filler\n", maxFileSize/9+1))
	_, _, err := Load(Options{Dir: dir, Getenv: env()})
	require.ErrorContains(t, err, "no config file")
}

func TestLoadReportsAllErrorsInOrder(t *testing.T) {
	t.Parallel()
	got := strings.Split(fails(t, "thread:\n  max_turn: 1\n  idle_timeout: soon\nfrontend_url: here\nsandbox:\n  mounts: 3\n"), "\n")
	require.Len(t, got, 4)
	for i, want := range []string{"c.yaml:2: thread: unknown key max_turn; did you mean max_turns?", "c.yaml:3:", "c.yaml:4:", "c.yaml:6:"} {
		require.True(t, strings.HasPrefix(got[i], want), got[i])
	}
}

func TestDefaultsAreThoseOfAnEmptyFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n# nothing\n", "---\n", "null\n", "\ufeff# byte order mark\n", "{}"} {
		c, _ := load(t, text)
		want := Defaults()
		want.Path, want.lookup, c.lookup, c.origins = c.Path, nil, nil, origins{}
		require.Equal(t, want, c, "%q", text)
	}
}

func TestDefaultFigures(t *testing.T) {
	t.Parallel()
	c := Defaults()
	require.Equal(t, Thread{2000, 1 << 20, 24 * time.Hour, 100}, c.Thread)
	require.Equal(t, Clarification{0, "proceed"}, c.Clarification)
	require.Equal(t, Uploads{10, 52428800, 104857600}, c.Uploads)
	require.Equal(t, LoopDetection{true, 3, 5, 20, 100, 30, 50, nil}, c.LoopDetection)
	require.Equal(t, LLMCall{0, 0, time.Second, 8 * time.Second, 5 * time.Second}, c.LLMCall)
	require.Equal(t, CircuitBreaker{5, time.Minute}, c.CircuitBreaker)
	require.Equal(t, Sandbox{
		BashOutputMaxChars: 20000, ReadFileOutputMaxChars: 50000, LsOutputMaxChars: 20000, BashCommandTimeout: 10 * time.Minute,
		Limits: SandboxLimits{3600, 4096, 512, 4096}, Image: "python:3.13-slim", ContainerPrefix: "deer-flow-sandbox",
		IdleTimeout: 10 * time.Minute, Replicas: 3,
	}, c.Sandbox)
	require.Equal(t, 1000, c.MaxRecursionLimit)
	require.Equal(t, ToggleAuto, c.Auth.Enabled)
	require.Equal(t, LogLevel("info"), c.LogLevel)
}

// What the program shows as its effective config must load as the same config.
func TestDefaultsSurviveBeingWritten(t *testing.T) {
	t.Parallel()
	want := Defaults()
	text, err := yaml.Marshal(want)
	require.NoError(t, err)
	got, warnings := load(t, string(text))
	require.Empty(t, warnings)
	got.Path, got.lookup, got.origins = "", nil, origins{}
	require.Equal(t, want, got)
}

// Settings that the documentation shows are settings.
func TestDocumentedSettingsLoad(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "docs", "configuration.md"))
	require.NoError(t, err)
	blocks := strings.Split(string(data), "```yaml\n")[1:]
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		load(t, text, "OPENAI_API_KEY", "k")
	}
	c, warnings := load(t, strings.Replace(blocks[1], "```", "#", 1)[:strings.Index(blocks[1], "```")]+demoModels)
	require.Empty(t, warnings)
	want := Defaults()
	c.Models, c.Path, c.lookup, c.origins = want.Models, "", nil, origins{}
	require.Equal(t, want, c, "the second block says that it has the defaults")
}

func TestExampleFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "config.example.yaml"))
	require.NoError(t, err)
	c, warnings := load(t, string(data))
	require.Empty(t, warnings)
	require.Equal(t, UseDemo, c.Models[0].Use)
	require.LessOrEqual(t, strings.Count(string(data), "\n"), 25)

	// The commented model is valid too.
	active := strings.NewReplacer("\n  # - ", "\n  - ", "\n  #   # ", "\n    ", "\n  #   ", "\n    ").Replace(string(data))
	c, warnings = load(t, active, "OPENAI_API_KEY", "sk-1")
	require.Empty(t, warnings)
	require.Len(t, c.Models, 2)
	require.Equal(t, "sk-1", c.Models[1].APIKey.Reveal())
	require.NotEmpty(t, c.Models[1].BaseURL)
}

func TestModelByName(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "models:\n- {name: a, use: demo}\n- {name: b, use: demo}\n")
	m, ok := c.Model("b")
	require.True(t, ok)
	require.Equal(t, "b", m.Name)
	m, ok = c.Model("nobody")
	require.False(t, ok)
	require.Equal(t, "a", m.Name)
}
