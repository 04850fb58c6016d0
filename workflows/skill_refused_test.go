package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// A skill that cannot be used is told in place of an answer, and no model is asked.
func TestASkillThatCannotBeUsedEndsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.model = func(context.Context, step.CallModelInput) (step.CallModelResult, error) { return says("42") }
	w.intake = step.Intake{
		Skill:   &step.SkillIntake{Refusal: "The skill /pdf is disabled."},
		Uploads: []thread.UploadedFile{{Filename: "a.pdf"}},
	}
	w.submit(0, step.SubmitRun{RunID: "r1"}, "/pdf fill it in")
	w.env.RegisterDelayedCallback(func() {
		require.Empty(t, w.calls)
		require.Len(t, w.commits, 1)
		c := w.last()
		require.Equal(t, thread.RunSuccess, c.Ends[0].Status)
		require.Len(t, c.Messages, 1)
		require.Equal(t, "The skill /pdf is disabled.", c.Messages[0].Message.Content.String())
		require.Equal(t, thread.RoleAI, c.Messages[0].Message.Role)
		require.Equal(t, w.intake.Uploads, c.State.UploadedFiles, "the hooks before it have run")
		w.intake = step.Intake{}
	}, time.Hour)
	w.submit(2*time.Hour, step.SubmitRun{RunID: "r2"}, "without it then")
	w.run()
	require.Len(t, w.calls, 1)
	require.Empty(t, w.last().State.UploadedFiles)
}
