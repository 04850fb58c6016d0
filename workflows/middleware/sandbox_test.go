package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

func TestCallsNameTheSandboxOfTheThread(t *testing.T) {
	t.Parallel()
	run := runOf(agent.Summary{})
	_, rules := around(t, &Sandbox{}, run, callOf("bash"))
	require.Empty(t, rules.Sandbox, "the first call gets one")
	run.State.Sandbox = &thread.SandboxRef{ID: "local:u:t"}
	_, rules = around(t, &Sandbox{}, run, callOf("bash"))
	require.Equal(t, "local:u:t", rules.Sandbox)
}
