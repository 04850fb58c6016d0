package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// The cases of spec 4.33 and 4.36.
func TestAnAnswerThatWasCut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		reply *ModelReply
		want  Update
	}{
		{"length", answered("a long", "length"), Update{StopReason: thread.StopModelLength}},
		{"MAX_TOKENS", answered("a long", "MAX_TOKENS"), Update{StopReason: thread.StopModelLength}},
		{"max_tokens", answered("a long", "max_tokens"), Update{StopReason: thread.StopModelLength}},
		{"the end", answered("a long", "stop"), Update{}},
		{"nothing said", answered("", "length"), Update{}}, // for TerminalResponse
		{"a call that was cut", answered("x", "length", thread.CallDigest{Name: "write_file", Invalid: "cut"}), Update{}},
	} {
		u, err := (&ModelLength{}).AfterModel(nil, &Run{}, tc.reply)
		require.NoError(t, err)
		require.Equal(t, tc.want, u, tc.name)
	}
}

// B14: the third time in a row is the last.
func TestB14CallsThatAreCutAgainAndAgain(t *testing.T) {
	t.Parallel()
	cut := answered("", "length", thread.CallDigest{Name: "write_file", Invalid: "cut"})
	whole := answered("", "tool_calls", thread.CallDigest{Name: "ls"})
	l := &ModelLength{}
	for i, tc := range []struct {
		reply *ModelReply
		ends  bool
	}{{cut, false}, {cut, false}, {whole, false}, {cut, false}, {cut, false}, {cut, true}} {
		u, err := l.AfterModel(nil, &Run{}, tc.reply)
		require.NoError(t, err)
		if tc.ends {
			require.Equal(t, thread.StopModelLength, u.StopReason)
			require.Equal(t, step.GotoEnd, u.Goto)
			require.True(t, u.Revisions[0].StripCalls)
			require.Contains(t, u.Revisions[0].AppendText, "output limit")
			continue
		}
		require.Equal(t, Update{}, u, "answer %d", i)
		saved, err := l.Save(nil)
		require.NoError(t, err)
		l = &ModelLength{}
		if saved != nil {
			require.NoError(t, l.Restore(nil, saved))
		}
	}
}
