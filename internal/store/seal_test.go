package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// sealing commits a seal and gives what became of the message.
func (f *fixture) sealing(s step.Seal) (*Row, step.CommitResult) {
	f.t.Helper()
	in := commitInput(ref("t1", "r1", 99), s.Pos+1, thread.StatusIdle)
	in.Seals = []step.Seal{s}
	result := f.commit(in)
	row, err := f.GetMessage(f.ctx, "t1", s.MessageID)
	if err != nil {
		require.ErrorIs(f.t, err, ErrNotFound)
		require.Empty(f.t, result.Messages)
		return nil, result
	}
	require.Len(f.t, result.Messages, 1)
	require.Equal(f.t, row.ID, result.Messages[0].ID)
	return &row, result
}

// Stop keeps the text that was shown: the pieces of the newest claim, with
// characters that were split between them, and what the model thought.
func TestSealGathersText(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		dead := f.owner(ref(th, "r1", 2))
		require.NoError(f.t, f.Append(f.ctx, dead, delta(dead, "void ")))
		o := f.owner(ref(th, "r1", 2))
		other := f.owner(ref(th, "r1", 3))
		for _, piece := range []string{"A family: 👨", "\u200d👩\u200d", "👧 e", "\u0301 <tag> ", "\x00\"q\""} {
			require.NoError(f.t, f.Append(f.ctx, o, delta(o, piece)))
			require.NoError(f.t, f.Append(f.ctx, other, delta(other, "parallel")))
		}
		require.NoError(f.t, f.Append(f.ctx, o,
			NewEvent{EventDelta, Delta{MessageID: o.MessageID, Reasoning: "I th"}},
			NewEvent{EventDelta, Delta{MessageID: o.MessageID, Reasoning: "ink 🦌"}},
			NewEvent{EventDelta, Delta{MessageID: o.MessageID, ToolCalls: []ToolCallDelta{{ID: "c1", Name: "bash", Args: `{"comm`}}}},
			NewEvent{EventDelta, Delta{MessageID: o.MessageID, Usage: &thread.Usage{OutputTokens: 7}}},
		))
		row, _ := f.sealing(step.Seal{MessageID: o.MessageID, Pos: 3, Stream: true, Fallback: ai("", "fallback")})
		require.Equal(f.t, "A family: 👨\u200d👩\u200d👧 e\u0301 <tag> \x00\"q\"", row.Message.Content.String())
		require.Equal(f.t, "I think 🦌", row.Message.Reasoning())
		require.Equal(f.t, true, row.Message.AdditionalKwargs[thread.KeyStopped])
		require.Equal(f.t, thread.RoleAI, row.Message.Role)
		require.Equal(f.t, 7, row.Message.Usage.OutputTokens)
		require.Empty(f.t, row.Message.ToolCalls)
		require.Equal(f.t, int64(3), row.Pos)
		require.Equal(f.t, 2, row.Step)

		require.ErrorIs(f.t, f.Append(f.ctx, o, delta(o, "late")), ErrFenced)
		again, err := f.Finish(f.ctx, o, NewRow{Message: ai(o.MessageID, "the whole text")})
		require.NoError(f.t, err)
		require.Equal(f.t, row.Message.Content, again.Message.Content)
	})
}

func TestSealWithoutText(t *testing.T) {
	t.Parallel()
	tool := thread.ToolResult("m", thread.ToolCall{ID: "c1", Name: "bash"}, thread.ToolError, "stopped by the user")
	for name, c := range map[string]struct {
		deltas []Delta
		claim  bool
		seal   step.Seal
		want   string
		none   bool
	}{
		"tool":                       {claim: true, seal: step.Seal{Fallback: tool}, want: "stopped by the user"},
		"tool without text":          {claim: true, seal: step.Seal{Fallback: thread.ToolResult("m", thread.ToolCall{ID: "c1"}, thread.ToolError, "")}, want: ""},
		"tool that never started":    {seal: step.Seal{Fallback: tool}, want: "stopped by the user"},
		"model, no delta":            {claim: true, seal: step.Seal{Stream: true}, none: true},
		"model that never started":   {seal: step.Seal{Stream: true}, none: true},
		"model, no delta, fallback":  {claim: true, seal: step.Seal{Stream: true, Fallback: ai("", "nothing came")}, want: "nothing came"},
		"model, tool call only":      {claim: true, deltas: []Delta{{ToolCalls: []ToolCallDelta{{Name: "bash"}}}}, seal: step.Seal{Stream: true}, none: true},
		"model, reasoning only":      {claim: true, deltas: []Delta{{Reasoning: "hm"}}, seal: step.Seal{Stream: true}, want: ""},
		"deltas of another message":  {claim: true, deltas: []Delta{{MessageID: "x", Text: "not mine"}}, seal: step.Seal{Stream: true}, none: true},
		"tool with deltas, fallback": {claim: true, deltas: []Delta{{Text: "output"}}, seal: step.Seal{Fallback: tool}, want: "stopped by the user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(f *fixture) {
				f.newThread("t1")
				r := ref("t1", "r1", 2)
				if c.claim {
					o := f.owner(r)
					for _, d := range c.deltas {
						if d.MessageID == "" {
							d.MessageID = o.MessageID
						}
						require.NoError(f.t, f.Append(f.ctx, o, NewEvent{EventDelta, d}))
					}
				}
				seal := c.seal
				seal.MessageID, seal.Pos = "r1-2", 4
				row, _ := f.sealing(seal)
				if !c.none {
					require.Equal(f.t, c.want, row.Message.Content.String())
					return
				}
				require.Nil(f.t, row)
				// An attempt that comes late must not write what the workflow has
				// given up.
				_, err := f.Claim(f.ctx, Claim{Ref: r, MessageID: "r1-2"})
				require.ErrorIs(f.t, err, ErrFenced)
			})
		})
	}
}

func TestSealCompleteRow(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.newThread("t1")
		o := f.owner(ref("t1", "r1", 2))
		f.finish(o, 3, "whole")
		row, result := f.sealing(step.Seal{MessageID: o.MessageID, Pos: 3, Stream: true, Fallback: ai("", "fallback")})
		require.Equal(f.t, "whole", row.Message.Content.String())
		require.Equal(f.t, "whole", result.Messages[0].Text)
		require.Zero(f.t, row.Rev)
	})
}

// What readers were shown and is not the message in the end is taken back.
func TestSealTakesBackWhatWasShown(t *testing.T) {
	t.Parallel()
	text, calls := Delta{Text: "half a te"}, Delta{ToolCalls: []ToolCallDelta{{ID: "c1", Name: "bash"}}}
	for name, c := range map[string]struct {
		deltas []Delta
		seal   step.Seal
		reset  bool
	}{
		"the text is the message":      {[]Delta{text}, step.Seal{Stream: true}, false},
		"nothing was shown":            {nil, step.Seal{Fallback: ai("", "failed")}, false},
		"another text takes its place": {[]Delta{text}, step.Seal{Fallback: ai("", "failed")}, true},
		"the calls were never made":    {[]Delta{text, calls}, step.Seal{Stream: true}, true},
		"there is no message at all":   {[]Delta{calls}, step.Seal{Stream: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(f *fixture) {
				f.newThread("t1")
				o := f.owner(ref("t1", "r1", 2))
				for _, d := range c.deltas {
					d.MessageID = o.MessageID
					require.NoError(f.t, f.Append(f.ctx, o, NewEvent{EventDelta, d}))
				}
				seal := c.seal
				seal.MessageID, seal.Pos = o.MessageID, 4
				f.sealing(seal)
				resets := 0
				for _, e := range f.log("t1") {
					if e.Type == EventReset {
						resets++
						require.Equal(f.t, "r1", e.Run)
					}
				}
				require.Equal(f.t, c.reset, resets == 1)
				require.LessOrEqual(f.t, resets, 1)
			})
		})
	}
}
