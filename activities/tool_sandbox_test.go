package activities

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/store"
)

// awayBoxes are sandboxes whose machines cannot be had.
type awayBoxes struct{ sandbox.Provider }

type awayBox struct{ sandbox.Sandbox }

func (p awayBoxes) Acquire(ctx context.Context, user, threadID string) (sandbox.Sandbox, error) {
	box, err := p.Provider.Acquire(ctx, user, threadID)
	return awayBox{box}, err
}

func (awayBox) Prepare(context.Context) error {
	return &sandbox.UnreachableError{Err: errors.New("connection refused")}
}

const awayText = "Error: the sandbox cannot be reached (connection refused); bash was not run. Go on without it, or try again later."

func TestASandboxThatCannotBeHad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.acts.o.Sandboxes = awayBoxes{w.acts.o.Sandboxes}
	in := w.command("touch mark")

	_, err := w.callTool(in)
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app, "it may be back soon")
	require.Equal(t, step.ErrSandboxAway, app.Type())
	require.False(t, app.NonRetryable())
	require.Equal(t, sandboxPause, app.NextRetryDelay())
	require.Contains(t, app.Message(), "the sandbox cannot be reached (connection refused)", "people see why it waits")

	w.acts.sandboxPatience = 0
	m, out := w.result(in)
	require.Equal(t, awayText, m.Content.String())
	require.True(t, out.Message.Error)
	require.NoFileExists(t, w.file("workspace/mark"))

	// An earlier attempt had the sandbox and died: what it did is not known.
	in = w.command("touch mark")
	_, err = w.store.Claim(t.Context(), store.Claim{Ref: in.Ref, MessageID: in.MessageID, Unsafe: true})
	require.NoError(t, err)
	m, _ = w.result(in)
	require.Contains(t, m.Content.String(), "It may have run")

	read := w.askFor("ls", `{"description":"x","path":"/mnt/user-data/workspace"}`)
	m, _ = w.result(read)
	require.NotContains(t, m.Content.String(), "cannot be reached", "files need no machine")
}

func TestTheLastAttemptForASandbox(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	for name, tt := range map[string]struct {
		attempt, most int32
		after         time.Duration
		last          bool
	}{
		"the first":          {1, 5, 2 * time.Second, false},
		"the fifth of five":  {5, 5, 2 * time.Second, true},
		"late":               {2, 5, sandboxPatience, true},
		"without a bound":    {7, 0, 2 * time.Second, false},
		"a slow first":       {1, 5, time.Minute, true},
		"just before enough": {4, 5, sandboxPatience - time.Second, false},
	} {
		info := activity.Info{ScheduledTime: begun, Attempt: tt.attempt, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: tt.most}}
		require.Equal(t, tt.last, lastForSandbox(info, begun.Add(tt.after), sandboxPatience), name)
	}
	require.False(t, lastForSandbox(activity.Info{ScheduledTime: begun, Attempt: 9}, begun, sandboxPatience), "a server that does not tell")
}
