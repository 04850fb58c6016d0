package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// The cases of spec 4.32 and 4.36, and B15.
func TestB15AnEmptyAnswerBehindTools(t *testing.T) {
	t.Parallel()
	human := thread.Digest{Role: thread.RoleHuman}
	hidden := thread.Digest{Role: thread.RoleHuman, Hidden: true}
	asked := thread.Digest{Role: thread.RoleAI, Calls: []thread.CallDigest{{Name: "ls"}}}
	result := thread.Digest{Role: thread.RoleTool}
	for _, tc := range []struct {
		name     string
		messages []thread.Digest
		reply    *ModelReply
		again    bool
	}{
		{"nothing behind a tool", []thread.Digest{human, asked, result}, answered("", "stop"), true},
		{"a hidden message between", []thread.Digest{human, asked, result, hidden}, answered("", "stop"), true},
		{"no tool", []thread.Digest{human}, answered("", "stop"), false},
		{"tools of an earlier question", []thread.Digest{human, asked, result, human}, answered("", "stop"), false},
		{"a text", []thread.Digest{human, asked, result}, answered("done", "stop"), false},
		{"calls", []thread.Digest{human, asked, result}, answered("", "tool_calls", thread.CallDigest{Name: "ls"}), false},
		{"a call that cannot be run", []thread.Digest{human, asked, result}, answered("", "stop", thread.CallDigest{Invalid: "cut"}), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := &TerminalResponse{}
			run := &Run{Messages: tc.messages}
			u, err := m.AfterModel(nil, run, tc.reply)
			require.NoError(t, err)
			if !tc.again {
				require.Equal(t, Update{}, u)
				return
			}
			require.Equal(t, step.GotoModel, u.Goto)
			require.Equal(t, []thread.Revision{{MessageID: "m", Kwargs: map[string]any{thread.KeyHidden: true}}}, u.Revisions)

			saved, err := m.Save(nil)
			require.NoError(t, err)
			m = &TerminalResponse{}
			require.NoError(t, m.Restore(nil, saved))
			request := &Request{}
			require.NoError(t, m.EditRequest(nil, run, request))
			require.Len(t, request.Edits, 1)
			require.Equal(t, "terminal_response_recovery", request.Edits[0].Name)
			request = &Request{}
			require.NoError(t, m.EditRequest(nil, run, request))
			require.Empty(t, request.Edits, "the nudge is in one request")

			// Also when the model has called another tool between.
			u, err = m.AfterModel(nil, run, tc.reply)
			require.NoError(t, err)
			require.Empty(t, u.Goto)
			require.NotEmpty(t, u.Error)
			require.Equal(t, u.Error, u.Revisions[0].AppendText)
			require.Equal(t, true, u.Revisions[0].Kwargs[thread.KeyErrorFallback])
		})
	}
}
