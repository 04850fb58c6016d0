package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPromptHasTheSectionsItsInputAsksFor(t *testing.T) {
	t.Parallel()
	with, err := Prompt(PromptInput{Clarification: true, Bash: true, MaxTurns: 12})
	require.NoError(t, err)
	require.Contains(t, with, "You are DeerFlow,")
	require.Contains(t, with, "<clarification>")
	require.Contains(t, with, "relative paths and commands start here")
	require.Contains(t, with, "at most 12 turns")

	without, err := Prompt(PromptInput{AgentName: "Scout", MaxTurns: 1})
	require.NoError(t, err)
	require.Contains(t, without, "You are Scout,")
	require.NotContains(t, without, "ask_clarification")
	require.NotContains(t, without, "commands")
}

func TestPromptIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	a, err := Prompt(PromptInput{MaxTurns: 3})
	require.NoError(t, err)
	b, err := Prompt(PromptInput{MaxTurns: 3})
	require.NoError(t, err)
	require.Equal(t, a, b)
}
