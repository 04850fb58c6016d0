package middleware

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// clerk stands in for the activity that writes summaries.
type clerk struct {
	asked []step.SummarizeInput
	out   step.SummarizeResult
	err   error
}

func (c *clerk) Summarize(_ workflow.Context, in step.SummarizeInput) (step.SummarizeResult, error) {
	c.asked = append(c.asked, in)
	if c.err != nil || c.out.Failed != "" {
		return c.out, c.err
	}
	d := thread.Digest{ID: fmt.Sprint("s", len(c.asked)), Role: thread.RoleHuman, Name: thread.NameSummary, Hidden: true, Pos: 1000 + int64(len(c.asked)), Tokens: 30}
	return step.SummarizeResult{Message: &d, Usage: thread.Usage{TotalTokens: 7}}, nil
}

func (*clerk) MakeTitle(workflow.Context, step.MakeTitleInput) workflow.Future { return nil }

// chat is a view of n messages in turn: a question, an answer, each of so many
// tokens.
func chat(n, tokens int) []thread.Digest {
	var view []thread.Digest
	for i := range n {
		role := thread.RoleHuman
		if i%2 == 1 {
			role = thread.RoleAI
		}
		view = append(view, thread.Digest{ID: fmt.Sprint("m", i), Role: role, Pos: int64(i), Tokens: tokens, Size: 4 * tokens})
	}
	return view
}

func summaryRun(view []thread.Digest, c *clerk) *Run {
	return &Run{Plan: &agent.Summary{}, Messages: view, Steps: c}
}

func messagesRule(trigger, keep float64) *agent.SummarizationRule {
	return &agent.SummarizationRule{
		Triggers: []agent.Measure{{Type: agent.MeasureMessages, Value: trigger}}, Keep: agent.Measure{Type: agent.MeasureMessages, Value: keep},
	}
}

func tokensRule(trigger float64) *agent.SummarizationRule {
	return &agent.SummarizationRule{
		Triggers: []agent.Measure{{Type: agent.MeasureTokens, Value: trigger}}, Keep: agent.Measure{Type: agent.MeasureMessages, Value: 4},
	}
}

func TestSummarizationIsDue(t *testing.T) {
	t.Parallel()
	small := agent.WindowRule{Size: 10_000, Output: 1000, Fixed: 1000}
	for _, tc := range []struct {
		name   string
		rule   *agent.SummarizationRule
		window agent.WindowRule
		view   []thread.Digest
		state  summarizationState
		cut    int64 // 0: nothing is done
	}{
		{"no rule, no window", nil, agent.WindowRule{}, chat(300, 9000), summarizationState{}, 0},
		{"24 messages, trigger 4, keep 2", messagesRule(4, 2), agent.WindowRule{}, chat(24, 10), summarizationState{}, 22},
		{"below the trigger", messagesRule(25, 2), agent.WindowRule{}, chat(24, 10), summarizationState{}, 0},
		{"fewer than are kept", messagesRule(4, 20), agent.WindowRule{}, chat(6, 10), summarizationState{}, 0},
		{"tokens", tokensRule(1000), agent.WindowRule{}, chat(10, 101), summarizationState{}, 6},
		{"tokens with prompt and schemas", tokensRule(1500), agent.WindowRule{Fixed: 600}, chat(10, 95), summarizationState{}, 6},
		{"tokens as the provider reported them", tokensRule(1000), agent.WindowRule{}, chat(10, 50), summarizationState{Total: 1000}, 6},
		{"tokens as the provider counts", tokensRule(1000), agent.WindowRule{}, chat(10, 85), summarizationState{Estimated: 100, Reported: 120}, 6},
		{"a provider that counts much more is not believed", tokensRule(1000), agent.WindowRule{}, chat(10, 75), summarizationState{Estimated: 100, Reported: 900}, 0},
		{"a provider that counts less is not, either", tokensRule(1000), agent.WindowRule{}, chat(10, 101), summarizationState{Estimated: 100, Reported: 10}, 6},
		{"what stays would be the next trigger", tokensRule(1000), agent.WindowRule{}, chat(10, 300), summarizationState{}, 9},
		{"too little to gain", tokensRule(1000), agent.WindowRule{Fixed: 900}, chat(5, 30), summarizationState{}, 0},
		{"after a failure triggers rest", messagesRule(4, 2), agent.WindowRule{}, chat(24, 10), summarizationState{Rest: 1}, 0},
		{"the window, without a rule", nil, small, chat(24, 400), summarizationState{}, 15},
		{"the window, also after a failure", messagesRule(4, 2), small, chat(24, 400), summarizationState{Rest: 1}, 22},
		{"the window has room", nil, small, chat(16, 400), summarizationState{}, 0},
		{"a giant question is cut, not compacted for", nil, small, append(chat(4, 40), thread.Digest{ID: "g", Role: thread.RoleHuman, Pos: 9, Tokens: 1e6, Size: 4e6}), summarizationState{}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inWorkflow(t, func(ctx workflow.Context) {
				s := NewSummarization(ctx, tc.rule, tc.window)
				s.state = tc.state
				c := &clerk{}
				u, err := s.BeforeModel(ctx, summaryRun(tc.view, c))
				require.NoError(t, err)
				if tc.cut == 0 {
					require.Nil(t, u.Compact)
					require.Empty(t, c.asked)
					return
				}
				require.NotNil(t, u.Compact)
				require.Equal(t, tc.cut, u.Compact.Cut)
				require.Equal(t, "s1", u.Compact.Summary.ID)
				require.Equal(t, &thread.SummaryRef{MessageID: "s1", Tokens: 30}, u.State.Summary)
				require.Equal(t, 7, u.Usage.TotalTokens)
				require.True(t, c.asked[0].Plain)
				require.Zero(t, s.state.Total)
			})
		})
	}
}

// A compaction that fails does not end the run (D09); a stop does.
func TestSummarizationFails(t *testing.T) {
	t.Parallel()
	lost := temporal.NewApplicationError("the database is locked", "Store")
	inWorkflow(t, func(ctx workflow.Context) {
		for _, c := range []*clerk{{err: overTheWire(lost)}, {out: step.SummarizeResult{Failed: "no model"}}} {
			s := NewSummarization(ctx, messagesRule(4, 2), agent.WindowRule{})
			for range 2 + restAfterFailure {
				u, err := s.BeforeModel(ctx, summaryRun(chat(24, 10), c))
				require.NoError(t, err)
				require.Equal(t, Update{}, u)
			}
			require.Len(t, c.asked, 2, "tried again after a while")
		}
		gone := overTheWire(temporal.NewNonRetryableApplicationError("deleted", step.ErrThreadGone, nil))
		_, err := NewSummarization(ctx, messagesRule(4, 2), agent.WindowRule{}).BeforeModel(ctx, summaryRun(chat(24, 10), &clerk{err: gone}))
		require.ErrorIs(t, err, gone)
		ctx, cancel := workflow.WithCancel(ctx)
		cancel()
		_, err = NewSummarization(ctx, messagesRule(4, 2), agent.WindowRule{}).BeforeModel(ctx, summaryRun(chat(24, 10), &clerk{err: temporal.NewCanceledError()}))
		require.Error(t, err)
	})
}

func TestSummarizationOfALongRequest(t *testing.T) {
	t.Parallel()
	tooLong := modelError(step.ErrContextLength, step.ModelFailure{Reason: "context_length", Message: "too long"})
	other := modelError(step.ErrModel, step.ModelFailure{Reason: "auth", Message: "no"})
	for _, tc := range []struct {
		name    string
		view    []thread.Digest
		errs    []error // of the calls, in order
		calls   int
		compact bool
		cuts    int
		err     error
	}{
		{"it fits", chat(9, 10), nil, 1, false, 0, nil},
		{"another failure", chat(9, 10), []error{other}, 1, false, 0, other},
		{"too long once", chat(9, 10), []error{tooLong}, 2, true, 0, nil},
		{"too long twice", chat(9, 10), []error{tooLong, tooLong}, 2, true, 0, tooLong},
		{"a giant question alone", chat(1, 9000), []error{tooLong}, 2, false, 1, nil},
		{"a giant question among others", append(chat(4, 10), chat(5, 9000)[4]), []error{tooLong}, 2, true, 1, nil},
		{"nothing to take away", chat(1, 10), []error{tooLong}, 1, false, 0, tooLong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inWorkflow(t, func(ctx workflow.Context) {
				s := NewSummarization(ctx, nil, agent.WindowRule{})
				run := summaryRun(tc.view, &clerk{})
				var applied *Update
				run.Apply = func(_ workflow.Context, u Update) error {
					applied = &u
					return nil
				}
				calls := 0
				request := &Request{}
				reply, err := s.AroundModel(ctx, run, request, func(workflow.Context, *Request) (ModelReply, error) {
					calls++
					if calls <= len(tc.errs) {
						return ModelReply{}, tc.errs[calls-1]
					}
					return ModelReply{CallModelResult: step.CallModelResult{FinishReason: "stop"}}, nil
				})
				require.Equal(t, tc.calls, calls)
				require.Equal(t, tc.compact, applied != nil)
				cuts, wraps := 0, 0
				for _, e := range request.Edits {
					switch e.Op {
					case agent.EditCut:
						cuts++
					case agent.EditWrap:
						wraps++
						require.Equal(t, "s1", e.ID)
					}
				}
				require.Equal(t, tc.cuts, cuts)
				require.Equal(t, tc.compact, wraps == 1)
				if tc.err != nil {
					require.ErrorIs(t, err, tc.err)
					return
				}
				require.NoError(t, err)
				require.Equal(t, "stop", reply.FinishReason)
			})
		})
	}
}

// What was learned is carried whole or not at all (C05).
func TestC05SummarizationState(t *testing.T) {
	t.Parallel()
	inWorkflow(t, func(ctx workflow.Context) {
		s := NewSummarization(ctx, nil, agent.WindowRule{Fixed: 50})
		saved, err := s.Save(ctx)
		require.NoError(t, err)
		require.Nil(t, saved)
		_, err = s.AroundModel(ctx, summaryRun(chat(3, 10), nil), &Request{}, func(workflow.Context, *Request) (ModelReply, error) {
			return ModelReply{CallModelResult: step.CallModelResult{Usage: thread.Usage{InputTokens: 96, OutputTokens: 4, TotalTokens: 100}}}, nil
		})
		require.NoError(t, err)
		require.Equal(t, summarizationState{Estimated: 80, Reported: 96, Total: 100}, s.state)
		saved, err = s.Save(ctx)
		require.NoError(t, err)
		next := NewSummarization(ctx, nil, agent.WindowRule{Fixed: 50})
		require.NoError(t, next.Restore(ctx, saved))
		require.Equal(t, s, next)
		require.Equal(t, 120, next.scale())
		require.NoError(t, next.Restore(ctx, json.RawMessage(`{}`)))
	})
}

func TestSummarizationCutsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	inWorkflow(t, func(ctx workflow.Context) {
		s := NewSummarization(ctx, nil, agent.WindowRule{Size: 10_000, Fixed: 1000})
		request := &Request{}
		require.NoError(t, s.EditRequest(ctx, summaryRun(chat(3, 10), nil), request))
		require.Empty(t, request.Edits)
		require.NoError(t, s.EditRequest(ctx, summaryRun(chat(1, 50_000), nil), request))
		require.Len(t, request.Edits, 1)
		require.Less(t, request.Edits[0].Keep+request.Edits[0].KeepTail, 40_000)
	})
}

func TestDurableContext(t *testing.T) {
	t.Parallel()
	skill := thread.SkillRef{Name: "maps", Path: "/mnt/skills/public/maps/SKILL.md"}
	task := thread.Delegation{ID: "t", Description: "count ships", Status: thread.DelegationCompleted, ResultRef: "m2"}
	state := thread.State{SkillContext: []thread.SkillRef{skill}, Delegations: []thread.Delegation{task}}
	summary := thread.Digest{ID: "s", Role: thread.RoleHuman, Name: thread.NameSummary, Hidden: true, Pos: 9}
	in := func(compacted *thread.Compacted, view ...thread.Digest) []agent.Edit {
		request := &Request{}
		require.NoError(t, (&DurableContext{}).EditRequest(nil, &Run{Messages: view, State: state, Compacted: compacted}, request))
		return request.Edits
	}
	compacted := &thread.Compacted{Summary: 9, Cut: 5}
	require.Empty(t, in(nil, chat(2, 1)...), "all of it is in view")
	require.Empty(t, in(nil, summary), "an imported summary is a message like any other")
	edits := in(compacted, append([]thread.Digest{summary}, chat(2, 1)...)...)
	require.Len(t, edits, 1)
	require.Equal(t, "s", edits[0].ID)
	require.Contains(t, edits[0].Tail, "count ships")
	require.Contains(t, edits[0].Tail, "maps")
	guide := thread.Digest{ID: "g", Role: thread.RoleTool, Read: &thread.FileMark{Path: skill.Path}}
	edits = in(compacted, append([]thread.Digest{summary, guide}, chat(3, 1)...)...)
	require.NotContains(t, edits[0].Tail, "count ships", "its result is in view")
	require.NotContains(t, edits[0].Tail, "maps", "its guide is in view")
}

// A cancel in the middle of a compaction is a cancel of the turn.
func TestACancelWhileCompacting(t *testing.T) {
	t.Parallel()
	inWorkflow(t, func(ctx workflow.Context) {
		ctx, cancel := workflow.WithCancel(ctx)
		tooLong := modelError(step.ErrContextLength, step.ModelFailure{Message: "too long"})
		s := NewSummarization(ctx, nil, agent.WindowRule{})
		c := &clerk{err: temporal.NewCanceledError()}
		_, err := s.AroundModel(ctx, summaryRun(chat(9, 10), c), &Request{}, func(workflow.Context, *Request) (ModelReply, error) {
			cancel()
			return ModelReply{}, tooLong
		})
		var cancelled *temporal.CanceledError
		require.ErrorAs(t, err, &cancelled)
	})
}
