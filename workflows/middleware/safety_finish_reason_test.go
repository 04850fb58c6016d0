package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestASafetyStopEndsTheRun(t *testing.T) {
	t.Parallel()
	reply := answered("The provider ended this answer", "content_filter")
	reply.Safety = true
	u, err := (&SafetyFinishReason{}).AfterModel(nil, &Run{}, reply)
	require.NoError(t, err)
	require.Equal(t, Update{Goto: step.GotoEnd, StopReason: thread.StopSafety}, u)

	u, err = (&SafetyFinishReason{}).AfterModel(nil, &Run{}, answered("a text alone", "content_filter"))
	require.NoError(t, err)
	require.Equal(t, Update{}, u)
}
