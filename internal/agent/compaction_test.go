package agent

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/thread"
)

// tape is a thread as the store and the workflow have it: rows, the cursor, and
// the digests of what the model reads.
type tape struct {
	rows   map[int64]thread.Digest
	cursor thread.Cursor
	next   int64
}

func (tp *tape) add(d thread.Digest) {
	if tp.rows == nil {
		tp.rows = map[int64]thread.Digest{}
	}
	d.Pos, d.ID = tp.next, fmt.Sprint("m", tp.next)
	tp.rows[d.Pos] = d
	tp.cursor.Extend(d.Pos)
	tp.next++
}

func (tp *tape) human(tokens int) { tp.add(thread.Digest{Role: thread.RoleHuman, Tokens: tokens}) }

// batch asks for n calls and answers them.
func (tp *tape) batch(n, tokens int) {
	ai := thread.Digest{Role: thread.RoleAI, Tokens: tokens}
	for i := range n {
		ai.Calls = append(ai.Calls, thread.CallDigest{ID: fmt.Sprintf("c%d-%d", tp.next, i), Name: "ls"})
	}
	tp.add(ai)
	for _, c := range ai.Calls {
		tp.add(thread.Digest{Role: thread.RoleTool, CallID: c.ID, Tokens: tokens})
	}
}

// guide reads the guide of a skill.
func (tp *tape) guide(name string, tokens int) {
	tp.batch(1, tokens/2)
	d := tp.rows[tp.next-2]
	d.Calls[0].Name = "read_file"
	result := tp.rows[tp.next-1]
	result.Read = &thread.FileMark{Path: "/mnt/skills/public/" + name + "/SKILL.md"}
	tp.rows[tp.next-2], tp.rows[tp.next-1] = d, result
}

// view is what the model reads.
func (tp *tape) view() []thread.Digest {
	var out []thread.Digest
	for _, s := range tp.cursor.Model().Segments {
		for pos := s.From; pos < s.To; pos++ {
			if d, ok := tp.rows[pos]; ok {
				out = append(out, d)
			}
		}
	}
	return out
}

// compact does what a plan says.
func (tp *tape) compact(c Compaction) {
	tp.rows[tp.next] = thread.Digest{ID: fmt.Sprint("s", tp.next), Role: thread.RoleHuman, Name: thread.NameSummary, Hidden: true, Pos: tp.next, Tokens: 10}
	tp.cursor.Compacted = &thread.Compacted{Summary: tp.next, Cut: c.Cut, Rescued: c.Rescued}
	tp.next++
}

func (tp *tape) input(keep Measure) CompactionInput {
	return CompactionInput{Messages: tp.view(), Compacted: tp.cursor.Compacted, Keep: keep, Window: 1000}
}

func keepMessages(n int) Measure { return Measure{Type: MeasureMessages, Value: float64(n)} }

func positions(list []thread.Digest) []int64 {
	var out []int64
	for _, d := range list {
		out = append(out, d.Pos)
	}
	return out
}

func TestPlanCompaction(t *testing.T) {
	t.Parallel()
	rule := &SummarizationRule{SkillCount: 2, SkillTokens: 100, SkillTokensEach: 60, ReadTools: []string{"read_file"}}
	for _, tc := range []struct {
		name string
		make func(*tape)
		in   CompactionInput
		want []int64 // positions that stay; nil: nothing is done
	}{
		{"few messages", func(tp *tape) { tp.human(1); tp.add(thread.Digest{Role: thread.RoleAI}) }, CompactionInput{Keep: keepMessages(2)}, nil},
		{"nothing at all", func(*tape) {}, CompactionInput{Keep: keepMessages(2)}, nil},
		{"the last ones stay", func(tp *tape) {
			for range 5 {
				tp.human(1)
			}
		}, CompactionInput{Keep: keepMessages(2)}, []int64{3, 4}},
		{"the question is all there was before", func(tp *tape) { tp.human(1); tp.batch(1, 1) }, CompactionInput{Keep: keepMessages(2)}, nil},
		{"the question stays", func(tp *tape) { tp.human(1); tp.human(1); tp.batch(1, 1); tp.batch(1, 1) }, CompactionInput{Keep: keepMessages(2)}, []int64{1, 4, 5}},
		{"a cut among results goes back", func(tp *tape) { tp.human(1); tp.human(1); tp.batch(3, 1) }, CompactionInput{Keep: keepMessages(2)}, []int64{1, 2, 3, 4, 5}},
		{"orphans go", func(tp *tape) {
			tp.human(1)
			tp.add(thread.Digest{Role: thread.RoleTool, CallID: "?"})
			tp.add(thread.Digest{Role: thread.RoleTool, CallID: "??"})
			tp.human(1)
		}, CompactionInput{Keep: keepMessages(2)}, []int64{3}},
		{"tokens", func(tp *tape) {
			for range 6 {
				tp.human(10)
			}
		}, CompactionInput{Keep: Measure{Type: MeasureTokens, Value: 25}}, []int64{4, 5}},
		{"a fraction of the window", func(tp *tape) {
			for range 6 {
				tp.human(100)
			}
		}, CompactionInput{Keep: Measure{Type: MeasureFraction, Value: 0.3}, Window: 1000}, []int64{3, 4, 5}},
		{"at most so many tokens", func(tp *tape) {
			for range 6 {
				tp.human(100)
			}
		}, CompactionInput{Keep: keepMessages(4), Most: 250}, []int64{4, 5}},
		{"at most so many, but the last exchange", func(tp *tape) { tp.human(1); tp.human(1); tp.batch(2, 1000) }, CompactionInput{Keep: keepMessages(10), Most: 50}, []int64{1, 2, 3, 4}},
		{"the least", func(tp *tape) { tp.human(1); tp.human(1); tp.guide("a", 8); tp.batch(1, 1); tp.batch(2, 1) }, CompactionInput{Least: true, Rule: rule}, []int64{1, 6, 7, 8}},
		{"a guide stays with its call", func(tp *tape) { tp.human(1); tp.guide("a", 20); tp.human(1); tp.batch(1, 1) }, CompactionInput{Keep: keepMessages(3), Rule: rule}, []int64{1, 2, 3, 4, 5}},
		{"a guide that is too long goes", func(tp *tape) { tp.human(1); tp.guide("a", 80); tp.human(1); tp.batch(1, 1) }, CompactionInput{Keep: keepMessages(3), Rule: rule}, []int64{3, 4, 5}},
		{"only the newest guides stay", func(tp *tape) {
			tp.human(1)
			for _, name := range []string{"a", "b", "c"} {
				tp.guide(name, 20)
			}
			tp.human(1)
		}, CompactionInput{Keep: keepMessages(1), Rule: rule}, []int64{3, 4, 5, 6, 7}},
		{"a guide that was read twice stays once", func(tp *tape) { tp.human(1); tp.guide("a", 20); tp.guide("a", 20); tp.human(1) }, CompactionInput{Keep: keepMessages(1), Rule: rule}, []int64{3, 4, 5}},
		{"guides fit into their room", func(tp *tape) { tp.human(1); tp.guide("a", 60); tp.guide("b", 60); tp.human(1) }, CompactionInput{Keep: keepMessages(1), Rule: rule}, []int64{3, 4, 5}},
		{"a failed read is no guide", func(tp *tape) {
			tp.human(1)
			tp.guide("a", 20)
			d := tp.rows[2]
			d.Error = true
			tp.rows[2] = d
			tp.human(1)
		}, CompactionInput{Keep: keepMessages(1), Rule: rule}, []int64{3}},
		{"another file is no guide", func(tp *tape) {
			tp.human(1)
			tp.guide("a", 20)
			d := tp.rows[2]
			d.Read = &thread.FileMark{Path: "/mnt/user-data/workspace/SKILL.md"}
			tp.rows[2] = d
			tp.human(1)
		}, CompactionInput{Keep: keepMessages(1), Rule: rule}, []int64{3}},
		{"a summary so far is no message", func(tp *tape) {
			tp.human(1)
			tp.human(1)
			tp.compact(Compaction{Cut: 1})
			tp.human(1)
		}, CompactionInput{Keep: keepMessages(2)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tp := &tape{}
			tc.make(tp)
			tc.in.Messages, tc.in.Compacted = tp.view(), tp.cursor.Compacted
			plan, some := PlanCompaction(tc.in)
			require.Equal(t, tc.want != nil, some)
			if !some {
				return
			}
			require.Equal(t, len(tc.want), plan.Preserved)
			tp.compact(plan)
			require.Equal(t, tc.want, positions(tp.view())[1:])
		})
	}
}

// Over any course of a thread and any sequence of compactions: no call is parted
// from its results (D07), the newest question stays and is the last of its kind
// (D06), nothing comes back into view, and what leaves it is summarised.
func TestD07CompactionsHoldForAnyCourse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tp := &tape{}
		gone := map[int64]bool{}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			for range rapid.IntRange(1, 8).Draw(t, "steps") {
				tokens := rapid.IntRange(1, 300).Draw(t, "tokens")
				switch rapid.IntRange(0, 4).Draw(t, "kind") {
				case 0:
					tp.human(tokens)
				case 1:
					tp.guide(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "skill"), tokens)
				case 2:
					tp.add(thread.Digest{Role: thread.RoleAI, Tokens: tokens})
				case 3:
					tp.add(thread.Digest{Role: thread.RoleHuman, Hidden: true, Tokens: tokens})
				default:
					tp.batch(rapid.IntRange(1, 4).Draw(t, "calls"), tokens)
				}
			}
			in := tp.input(rapid.SampledFrom([]Measure{
				keepMessages(rapid.IntRange(0, 12).Draw(t, "keep")),
				{Type: MeasureTokens, Value: float64(rapid.IntRange(0, 900).Draw(t, "keep tokens"))},
				{Type: MeasureFraction, Value: 0.3},
			}).Draw(t, "measure"))
			in.Most = rapid.SampledFrom([]int{0, 0, 100, 500}).Draw(t, "most")
			in.Least = rapid.IntRange(0, 4).Draw(t, "least") == 0
			in.Rule = &SummarizationRule{SkillCount: 2, SkillTokens: 400, SkillTokensEach: 250, ReadTools: []string{"read_file"}}
			before := tp.view()
			plan, some := PlanCompaction(in)
			if !some {
				continue
			}
			tp.compact(plan)
			view := tp.view()
			checkPaired(t, view)
			require.Equal(t, question(before), question(view))
			require.Len(t, view, plan.Preserved+1)
			require.Equal(t, thread.NameSummary, view[0].Name)
			for _, d := range before {
				if d.Name != thread.NameSummary && plan.Old.Contains(d.Pos) {
					gone[d.Pos] = true
				}
			}
			for _, d := range view {
				require.False(t, gone[d.Pos], "message %d was summarised and is in view", d.Pos)
			}
			for _, d := range before {
				if d.Name != thread.NameSummary && !gone[d.Pos] {
					require.Contains(t, positions(view), d.Pos, "neither summarised nor in view")
				}
			}
		}
	})
}

// checkPaired is V1 and V2.
func checkPaired(t require.TestingT, view []thread.Digest) {
	open := map[string]bool{}
	for i, d := range view {
		if d.Role == thread.RoleTool {
			require.True(t, open[d.CallID], "result %d of a call that is not there, in %v", d.Pos, positions(view))
			delete(open, d.CallID)
			continue
		}
		require.Empty(t, open, "message %d stands between a call and its results", i)
		for _, c := range d.Calls {
			open[c.ID] = true
		}
	}
	require.Empty(t, open)
}

// question is the newest message of the user.
func question(view []thread.Digest) int64 {
	at := slices.IndexFunc(view, func(d thread.Digest) bool { return d.UserText() })
	if at < 0 {
		return -1
	}
	for i := range view {
		if view[i].UserText() {
			at = i
		}
	}
	return view[at].Pos
}

func TestTriggers(t *testing.T) {
	t.Parallel()
	measure := func(kind string, value float64) *SummarizationRule {
		return &SummarizationRule{Triggers: []Measure{{kind, value}}}
	}
	for _, tc := range []struct {
		name   string
		rule   *SummarizationRule
		load   Load
		window int
		want   bool
	}{
		{"none", &SummarizationRule{}, Load{Messages: 1000, Total: 1e6}, 1000, false},
		{"messages below", measure(MeasureMessages, 10), Load{Messages: 9}, 0, false},
		{"messages", measure(MeasureMessages, 10), Load{Messages: 10}, 0, true},
		{"tokens below", measure(MeasureTokens, 100), Load{Total: 99}, 0, false},
		{"tokens", measure(MeasureTokens, 100), Load{Total: 100}, 0, true},
		{"fraction below", measure(MeasureFraction, 0.8), Load{Total: 799}, 1000, false},
		{"fraction", measure(MeasureFraction, 0.8), Load{Total: 800}, 1000, true},
		{"fraction of an unknown window", measure(MeasureFraction, 0.8), Load{Total: 1e6}, 0, false},
		{"fraction of nearly nothing", measure(MeasureFraction, 0.0001), Load{Total: 1}, 1000, true},
		{"any of them", &SummarizationRule{Triggers: []Measure{{MeasureMessages, 10}, {MeasureTokens, 100}}}, Load{Messages: 1, Total: 100}, 0, true},
	} {
		require.Equal(t, tc.want, tc.rule.Reached(tc.load, WindowRule{Size: tc.window}).Reached, tc.name)
	}
}

func TestTheRoomOfAWindow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		window WindowRule
		want   int
	}{
		{WindowRule{}, 0},
		{WindowRule{Size: 65_536, Output: 8192, Fixed: 5000}, 65_536 - 8192 - 5000 - 2048 - frameTokens},
		{WindowRule{Size: 8192, Output: 8192, Fixed: 5000}, (8192 - 5000 - 256 - frameTokens) / 2},
		{WindowRule{Size: 4096, Output: 1000, Fixed: 5000}, 0},
	} {
		require.Equal(t, tc.want, tc.window.Room(), "%+v", tc.window)
		require.Positive(t, tc.window.SummaryTokens())
	}
}
