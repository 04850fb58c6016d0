package thread

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestArtifactsAreAnOrderedUnion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, u := anyState(t), anyUpdate().Draw(t, "update")
		u.Sandbox = nil
		before := s.Clone()

		require.NoError(t, s.Apply(u))

		require.True(t, slices.Equal(before.Artifacts, s.Artifacts[:len(before.Artifacts)]), "what was there stays in its place")
		var want []string
		for _, path := range append(slices.Clone(before.Artifacts), u.Artifacts...) {
			if !slices.Contains(want, path) {
				want = append(want, path)
			}
		}
		require.Equal(t, want, s.Artifacts)

		once := s.Clone()
		require.NoError(t, s.Apply(u))
		require.Equal(t, once.Artifacts, s.Artifacts, "the same update again changes nothing")
	})
}

func TestStateTakesTheLastTitleAndDirectories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, u := anyState(t), anyUpdate().Draw(t, "update")
		u.Sandbox = nil
		before := s.Clone()
		require.NoError(t, s.Apply(u))
		if u.Title == nil {
			require.Equal(t, before.Title, s.Title)
		} else {
			require.Equal(t, *u.Title, s.Title)
		}
		if u.ThreadData == nil {
			require.Equal(t, before.ThreadData, s.ThreadData)
		} else {
			require.Equal(t, *u.ThreadData, *s.ThreadData)
			require.NotSame(t, u.ThreadData, s.ThreadData)
		}
	})
}

func TestTheSandboxFailsClosed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, u := anyState(t), anyUpdate().Draw(t, "update")
		u.Sandbox = &SandboxRef{ID: rapid.SampledFrom([]string{"local", "other", ""}).Draw(t, "sandbox")}
		before := s.Clone()

		err := s.Apply(u)

		if before.Sandbox == nil || before.Sandbox.ID == u.Sandbox.ID {
			require.NoError(t, err)
			require.Equal(t, u.Sandbox.ID, s.Sandbox.ID)
			require.NotSame(t, u.Sandbox, s.Sandbox)
			return
		}
		require.ErrorContains(t, err, "conflicting sandbox updates")
		require.ErrorContains(t, err, before.Sandbox.ID)
		require.ErrorContains(t, err, u.Sandbox.ID)
		require.Empty(t, cmp.Diff(before, s), "nothing of a refused update is taken")
	})
}

// Two calls of one message may move the thread at once.
func TestASandboxMoves(t *testing.T) {
	t.Parallel()
	s := State{Sandbox: &SandboxRef{ID: "old"}}
	for range 2 {
		require.NoError(t, s.Apply(StateUpdate{Sandbox: &SandboxRef{ID: "new", From: "old"}}))
		require.Equal(t, &SandboxRef{ID: "new"}, s.Sandbox)
	}
	require.Error(t, s.Apply(StateUpdate{Sandbox: &SandboxRef{ID: "third", From: "old"}}), "the thread is elsewhere by now")
	require.Error(t, s.Apply(StateUpdate{Sandbox: &SandboxRef{ID: "old"}}))
}

func TestAStateUpdateThatChangesNothing(t *testing.T) {
	t.Parallel()
	require.True(t, StateUpdate{}.IsZero())
	require.True(t, StateUpdate{Artifacts: []string{}}.IsZero())
	empty := ""
	require.False(t, StateUpdate{Title: &empty}.IsZero(), "an empty title is a change")
	rapid.Check(t, func(t *rapid.T) {
		s, u := anyState(t), anyUpdate().Draw(t, "update")
		before := s.Clone()
		if err := s.Apply(u); err == nil && u.IsZero() {
			require.Equal(t, before, s)
		}
	})
}

func TestStateJSONHasTheChannelNames(t *testing.T) {
	t.Parallel()
	empty, err := json.Marshal(State{})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(empty))
	full, err := json.Marshal(State{
		Title: "T", Artifacts: []string{"/mnt/user-data/outputs/a.md"}, Sandbox: &SandboxRef{ID: "local"},
		ThreadData: &DirectoryRef{Workspace: "/mnt/user-data/workspace", Uploads: "/mnt/user-data/uploads", Outputs: "/mnt/user-data/outputs"},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"title":"T","artifacts":["/mnt/user-data/outputs/a.md"],"sandbox":{"sandbox_id":"local"},`+
		`"thread_data":{"workspace_path":"/mnt/user-data/workspace","uploads_path":"/mnt/user-data/uploads","outputs_path":"/mnt/user-data/outputs"}}`, string(full))
}
