package cli

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// screen is a writer that tests read while it is written to.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func noEnv(string) string { return "" }

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

// still is a Progress on a terminal whose redraws come from the test alone.
func still(w *screen, env func(string) string) *Progress {
	p := NewProgress(ProgressOptions{Streams: IOStreams{ErrOut: w}, Env: env, Now: newClock().now})
	p.live = true
	p.style = Style{on: env("NO_COLOR") == ""}
	return p
}

func TestProgressOffATerminalIsPlainLines(t *testing.T) {
	t.Parallel()
	var w screen
	p := NewProgress(ProgressOptions{Streams: IOStreams{ErrOut: &w}, Env: noEnv})
	p.Status("thinking")
	p.Text("some text")
	p.Step(MarkStart, "bash ls\x1b[2J", "")
	p.Step(MarkDone, "bash", "0.1s")
	p.Info("see %s", "there")
	p.Close()
	require.Equal(t, "• bash ls [2J\n✓ bash 0.1s\nsee there\n", w.String())
}

func TestQuietLeavesOnlyNotes(t *testing.T) {
	t.Parallel()
	var w screen
	p := NewProgress(ProgressOptions{Streams: IOStreams{ErrOut: &w, ErrIsTTY: true}, Env: noEnv, Quiet: true})
	p.Status("thinking")
	p.Step(MarkStart, "bash", "")
	p.Info("for progress")
	p.Note("for everybody")
	p.Close()
	require.Equal(t, "for everybody\n", w.String())
}

func TestDumbTerminalGetsNoEscapes(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{"TERM": "dumb"}[name] }
	var w screen
	p := NewProgress(ProgressOptions{Streams: IOStreams{ErrOut: &w, ErrIsTTY: true}, Env: env})
	p.Status("thinking")
	p.Text("text")
	p.tick()
	p.Step(MarkFail, "bash", "exit 1")
	p.Close()
	require.NotContains(t, w.String()[strings.Index(w.String(), "✗"):], "\x1b")
	require.False(t, p.live)
}

func TestNoColorKeepsTheSpinnerWithoutColour(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] }
	style, moves := Terminal(IOStreams{ErrIsTTY: true}, env)
	require.True(t, moves)
	require.Equal(t, "x", style.Red("x"))
	style, moves = Terminal(IOStreams{ErrIsTTY: true}, noEnv)
	require.True(t, moves)
	require.Equal(t, "\x1b[31mx\x1b[0m", style.Red("x"))
	_, moves = Terminal(IOStreams{}, noEnv)
	require.False(t, moves)
}

func TestLiveRegionIsErasedBeforeEveryLine(t *testing.T) {
	t.Parallel()
	var w screen
	p := still(&w, func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] })
	p.Status("writing")
	p.Text("first line\nsecond line")
	p.tick()
	require.Equal(t, "  first line\n  second line\n⠙ writing 0s", w.String())
	p.Step(MarkDone, "bash", "")
	require.Equal(t, "\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K✓ bash\n", strings.TrimPrefix(w.String(), "  first line\n  second line\n⠙ writing 0s"))
	p.Status("thinking")
	before := w.String()
	p.tick()
	require.Equal(t, "⠹ thinking 0s", strings.TrimPrefix(w.String(), before), "a new status drops the text")
	p.Close()
	require.True(t, strings.HasSuffix(w.String(), "\r\x1b[2K"))
}

func TestProgressDrawsByItselfOnATerminal(t *testing.T) {
	t.Parallel()
	var w screen
	p := NewProgress(ProgressOptions{Streams: IOStreams{ErrOut: &w, ErrIsTTY: true, Columns: func() int { return 60 }}, Env: noEnv})
	p.Status("thinking")
	require.Eventually(t, func() bool { return strings.Contains(w.String(), "thinking") }, 5*time.Second, time.Millisecond)
	p.Close()
	require.True(t, strings.HasSuffix(w.String(), "\r\x1b[2K"))
}
