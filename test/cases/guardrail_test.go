package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// The allowlist of the configuration: a denied tool is not run, and the model is
// told why.
func TestGuardrailDeniesByName(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "guardrails:", "  enabled: true", "  provider: {use: allowlist, config: {denied_tools: [bash]}}")})
	id := newThread(t, p.API())
	res := toolResults(t, m, p, id, "guarded", sh("touch ran"), tool("ls", "path", "/mnt/user-data/workspace"))
	require.Contains(t, res[0], "the guardrail denied tool bash (oap.tool_not_allowed)")
	require.Equal(t, "(empty)", res[1])
}
