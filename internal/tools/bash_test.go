package tools

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
	"deerflow/internal/thread"
)

func TestBash(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	require.Equal(t, "hi", k.ok("bash", a{"description": "d", "command": "echo hi > f; cat /mnt/user-data/workspace/f"}))
	require.Equal(t, "Exit Code: 3", k.ok("bash", a{"command": "exit 3"})) // 10.4-13
	require.Equal(t, 3, k.call("bash", a{"command": "exit 3"}).Kwargs[thread.KeyExitCode])
	require.Equal(t, "(no output)", k.ok("bash", a{"command": "true"}))
	require.NotContains(t, k.call("bash", a{"command": "echo Exit Code: 3"}).Kwargs, thread.KeyExitCode)
	require.Equal(t, "x\nStd Error:\ny\nExit Code: 1", k.ok("bash", a{"command": "echo x; echo y >&2; false"}))
	k.fails("bash", a{"command": "cat /etc/passwd"}, "Unsafe absolute paths", "/etc/passwd")
	k.fails("bash", a{"command": " "}, "empty")
	k.fails("bash", a{}, `"command"`)

	text := k.ok("bash", a{"command": "printf 'begin '; head -c 25000 /dev/zero | tr '\\0' x; printf ' end'"})
	require.LessOrEqual(t, utf8.RuneCountInString(text), 20_000)
	require.Contains(t, text, "characters in the middle left out")
	require.True(t, strings.HasPrefix(text, "begin ") && strings.HasSuffix(text, " end"))

	started := time.Now() // background children do not hold the call up
	require.Equal(t, "(no output)", k.ok("bash", a{"command": "sleep 100 &"}))
	require.Less(t, time.Since(started), 5*time.Second)
}

func TestBashTimeout(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	set, _, err := New(Options{Entries: everything(), HostBash: true, BashTimeout: 200 * time.Millisecond})
	require.NoError(t, err)
	k.set = set
	r := k.call("bash", a{"command": "echo begun; sleep 700"})
	require.True(t, r.Error)
	require.Equal(t, "begun\nCommand timed out after 200ms and was stopped.", r.Text)
	require.Equal(t, "transient", *r.Kwargs[KeyMeta].(Meta).ErrorType)
}

// A command that was cancelled is the caller's business; the output so far is
// there.
func TestBashCancel(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for t.Context().Err() == nil {
			if _, err := k.env.Sandbox.Stat(context.WithoutCancel(ctx), "begun"); err == nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	r, err := k.try(ctx, "bash", a{"command": "echo so far; touch begun; sleep 600"})
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, r.Text, "so far")
}

// J05: secrets of a skill reach the command and do not come back.
func TestBashSecrets(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.env.CommandEnv = map[string]string{"SKILL_KEY": "super-secret-1"}
	require.Equal(t, "[redacted] 14", k.ok("bash", a{"command": "echo $SKILL_KEY ${#SKILL_KEY}"}))
}

func TestBashDisabled(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	p, err := sandbox.NewLocal(sandbox.LocalOptions{Root: k.root})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	k.env.Sandbox, err = p.Acquire(t.Context(), "u1", "t1")
	require.NoError(t, err)
	r := k.fails("bash", a{"command": "true"}, "Host bash execution is disabled")
	require.Equal(t, "config", *r.Kwargs[KeyMeta].(Meta).ErrorType)
}

// What a provider has to say stands in the description, after what holds everywhere.
func TestBashTellsOfItsSandbox(t *testing.T) {
	t.Parallel()
	set, _, err := New(Options{Entries: everything(), HostBash: true, BashNotes: "- There is no network."})
	require.NoError(t, err)
	tool, _ := set.Get("bash")
	require.Contains(t, tool.Spec().Description, "stopped.\n- There is no network.")
}

// machinelessSandbox is one whose machine cannot be had.
type machinelessSandbox struct{ sandbox.Sandbox }

func (machinelessSandbox) Exec(context.Context, sandbox.Command) (sandbox.ExecResult, error) {
	return sandbox.ExecResult{}, &sandbox.UnreachableError{Err: errors.New("connection refused")}
}

func TestBashWithoutAMachine(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.env.Sandbox = machinelessSandbox{k.env.Sandbox}
	k.fails("bash", a{"command": "true"}, "the sandbox cannot be reached (connection refused); bash was not run")
}
