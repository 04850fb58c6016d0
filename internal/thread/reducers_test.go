package thread

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDelegations(t *testing.T) {
	t.Parallel()
	apply := func(s *State, d ...Delegation) { require.NoError(t, s.Apply(StateUpdate{Delegations: d})) }

	var s State
	apply(&s, Delegation{ID: "a", RunID: "r1", Status: DelegationInProgress, CreatedAt: "t1"})
	apply(&s, Delegation{ID: "a", RunID: "r2", Status: DelegationCompleted, CreatedAt: "t2", ResultSHA256: "x"})
	want := []Delegation{{ID: "a", RunID: "r1", Status: DelegationCompleted, CreatedAt: "t1", ResultSHA256: "x"}}
	require.Equal(t, want, s.Delegations, "run and time of the beginning stay, the rest is new")
	apply(&s, Delegation{ID: "a", Status: DelegationInProgress})
	require.Equal(t, want, s.Delegations, "what is over does not go back to work")
	apply(&s, Delegation{ID: "a", Status: DelegationFailed})
	require.Equal(t, DelegationFailed, s.Delegations[0].Status)

	s = State{}
	for i := range 51 {
		apply(&s, Delegation{ID: fmt.Sprint(i), Status: DelegationCompleted})
	}
	require.Len(t, s.Delegations, 50)
	require.Equal(t, "1", s.Delegations[0].ID, "the oldest has gone")
	require.Equal(t, "50", s.Delegations[49].ID)
}

func TestSkillContext(t *testing.T) {
	t.Parallel()
	skill := func(name string) SkillRef {
		return SkillRef{Name: name, Path: "/mnt/skills/public/" + name + "/SKILL.md"}
	}
	var s State
	for i := range 8 {
		require.NoError(t, s.Apply(StateUpdate{SkillContext: []SkillRef{skill(fmt.Sprint("s", i))}}))
	}
	again := skill("s0")
	again.LoadedAt = "later"
	require.NoError(t, s.Apply(StateUpdate{SkillContext: []SkillRef{again, skill("new")}}))
	require.Len(t, s.SkillContext, 8)
	require.Equal(t, []SkillRef{again, skill("new")}, s.SkillContext[6:], "one that is read again moves to the end")
	require.NotContains(t, pathsOf(s.SkillContext), skill("s1").Path, "the one that was read longest ago has gone")
}

func TestLedgersStayBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		require.LessOrEqual(t, len(s.Delegations), mostDelegations)
		require.LessOrEqual(t, len(s.SkillContext), mostSkills)
		seen := map[string]bool{}
		for _, d := range s.Delegations {
			require.False(t, seen[d.ID], d.ID)
			seen[d.ID] = true
		}
		for _, path := range pathsOf(s.SkillContext) {
			require.False(t, seen[path], path)
			seen[path] = true
		}
	})
}

func TestADelegationThatIsOverStaysOver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, u := anyState(t), anyUpdate().Draw(t, "update")
		u.Sandbox = nil
		over := map[string]bool{}
		for _, d := range s.Delegations {
			over[d.ID] = d.Status != DelegationInProgress
		}
		// One that was pushed out and comes again is another entry.
		u.Delegations = u.Delegations[:min(len(u.Delegations), mostDelegations-len(s.Delegations))]
		require.NoError(t, s.Apply(u))
		for _, d := range s.Delegations {
			require.False(t, over[d.ID] && d.Status == DelegationInProgress, d.ID)
		}
	})
}

func TestPromotedToolsHoldForOneCatalog(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ old, update, want *Promoted }{
		"nothing keeps":          {&Promoted{"h", []string{"a"}}, nil, &Promoted{"h", []string{"a"}}},
		"no catalog keeps":       {&Promoted{"h", []string{"a"}}, &Promoted{"", []string{"b"}}, &Promoted{"h", []string{"a"}}},
		"the first":              {nil, &Promoted{"h", []string{"b", "a", "b"}}, &Promoted{"h", []string{"b", "a"}}},
		"the same catalog joins": {&Promoted{"h", []string{"a", "b"}}, &Promoted{"h", []string{"c", "a"}}, &Promoted{"h", []string{"a", "b", "c"}}},
		"another one replaces":   {&Promoted{"h", []string{"a"}}, &Promoted{"i", []string{"b", "b"}}, &Promoted{"i", []string{"b"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := State{Promoted: tt.old}
			require.NoError(t, s.Apply(StateUpdate{Promoted: tt.update}))
			require.Equal(t, tt.want, s.Promoted)
		})
	}
}

func TestViewedImagesMergeAndClear(t *testing.T) {
	t.Parallel()
	see := func(s *State, images map[string]ViewedImage) {
		require.NoError(t, s.Apply(StateUpdate{ViewedImages: &images}))
	}
	var s State
	see(&s, map[string]ViewedImage{"/a": {Size: 1}, "/b": {Size: 1}})
	see(&s, map[string]ViewedImage{"/b": {Size: 2}})
	require.Equal(t, []string{"/a", "/b"}, imagePaths(s))
	require.EqualValues(t, 2, s.ViewedImages["/b"].Size)
	require.NoError(t, s.Apply(StateUpdate{}))
	require.Len(t, s.ViewedImages, 2, "an update that says nothing of them keeps them")
	see(&s, map[string]ViewedImage{})
	require.Empty(t, s.ViewedImages)
}

func TestTodosAreKeptAndCleared(t *testing.T) {
	t.Parallel()
	plan := []Todo{{Content: "x", Status: TodoPending}}
	s := State{}
	require.NoError(t, s.Apply(StateUpdate{Todos: &plan}))
	require.NoError(t, s.Apply(StateUpdate{}))
	require.Equal(t, plan, s.Todos)
	require.NoError(t, s.Apply(StateUpdate{Todos: &[]Todo{}}))
	require.Nil(t, s.Todos)
}
