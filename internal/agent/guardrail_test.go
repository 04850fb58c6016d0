package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// 10.17-1: an empty list of allowed tools denies everything.
func TestTheAllowlist(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		rule  GuardrailRule
		tool  string
		allow bool
	}{
		{"no lists", GuardrailRule{AllowAll: true}, "bash", true},
		{"allowed", GuardrailRule{Allowed: []string{"ls", "bash"}}, "bash", true},
		{"not allowed", GuardrailRule{Allowed: []string{"ls"}}, "bash", false},
		{"an empty list", GuardrailRule{Allowed: []string{}}, "ls", false},
		{"no list at all", GuardrailRule{}, "ls", false},
		{"denied", GuardrailRule{AllowAll: true, Denied: []string{"bash"}}, "bash", false},
		{"allowed and denied", GuardrailRule{Allowed: []string{"bash"}, Denied: []string{"bash"}}, "bash", false},
		{"names are exact", GuardrailRule{Allowed: []string{"Bash", "bash "}}, "bash", false},
		{"no name", GuardrailRule{Allowed: []string{"ls"}}, "", false},
	} {
		d := tc.rule.Decide(tc.tool)
		require.Equal(t, tc.allow, d.Allow, tc.name)
		if tc.allow {
			require.Equal(t, CodeAllowed, d.Code, tc.name)
		} else {
			require.Equal(t, CodeNotAllowed, d.Code, tc.name)
			require.NotEmpty(t, d.Reason, tc.name)
		}
	}
}
