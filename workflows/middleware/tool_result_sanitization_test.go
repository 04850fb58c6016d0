package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
)

func TestN04ResultsOfWebToolsAreNeutralized(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]bool{
		"web_fetch": true, "web_search": true, "image_search": true, "web_capture": true,
		"bash": false, "read_file": false, "task": false,
		"fetch_page": false, // known gap: a tool of another name that fetches pages
	} {
		reply, rules := around(t, &ToolResultSanitization{}, runOf(agent.Summary{}), callOf(tool))
		require.Nil(t, reply)
		require.Equal(t, want, rules.Neutralize, tool)
	}
}
