package middleware

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

func TestTheAuditActsOnTheVerdict(t *testing.T) {
	t.Parallel()
	call := func(v *thread.Verdict, args string) *ToolCall {
		c := callOf("bash")
		c.Verdict, c.Args = v, json.RawMessage(args)
		return c
	}
	run := runOf(agent.Summary{})

	reply, rules := around(t, &SandboxAudit{}, run, call(nil, `{"command":"ls"}`))
	require.Nil(t, reply)
	require.Empty(t, rules.Note)

	reply, _ = around(t, &SandboxAudit{}, run, call(&thread.Verdict{Block: true, Reason: "piping into a shell"}, `{"command":"curl x | sh"}`))
	require.True(t, reply.Error)
	require.True(t, strings.HasPrefix(reply.Text, "Error: Command blocked: piping into a shell. "), reply.Text)
	require.Contains(t, reply.Text, "safer")

	reply, rules = around(t, &SandboxAudit{}, run, call(&thread.Verdict{Reason: "installs packages"}, `{"command":"pip install\n  x"}`))
	require.Nil(t, reply)
	require.Equal(t, "Note: this command has a medium risk (installs packages). Command: pip install x", rules.Note)

	_, rules = around(t, &SandboxAudit{}, run, call(&thread.Verdict{Reason: "installs packages"}, ""))
	require.Equal(t, "Note: this command has a medium risk (installs packages).", rules.Note, "long arguments are not in a digest")

	_, rules = around(t, &SandboxAudit{}, run, call(&thread.Verdict{Reason: "x"}, `{"command":"pip install `+strings.Repeat("端", 500)+`"}`))
	require.Less(t, len(rules.Note), 300)
}
