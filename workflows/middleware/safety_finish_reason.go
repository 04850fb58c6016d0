package middleware

import (
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// SafetyFinishReason ends a run whose provider stopped the answer for safety,
// and says so in its stop reason (spec 4.34, B13). The answer itself is judged
// where it is read, by the built-in reasons (content_filter, refusal, SAFETY and
// their like) and those of safety_finish_reason.detectors: its calls may be half
// written, so they are dropped before its row exists, and the user is told. On
// unless safety_finish_reason.enabled is false; half-written calls are dropped
// then, too.
type SafetyFinishReason struct{ Base }

// Name is SafetyFinishReason.
func (*SafetyFinishReason) Name() string { return NameSafetyFinishReason }

// AfterModel ends the run.
func (*SafetyFinishReason) AfterModel(_ workflow.Context, _ *Run, reply *ModelReply) (Update, error) {
	if !reply.Safety {
		return Update{}, nil
	}
	return Update{Goto: step.GotoEnd, StopReason: thread.StopSafety}, nil
}
