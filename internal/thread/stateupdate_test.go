package thread

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// One update made of many is the many, whatever they are: the workflow gathers
// the updates of a turn and the activity that commits applies what came of it.
func TestMergedUpdatesAreTheUpdates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := anyState(t)
		gathered, one := before.Clone(), before.Clone()
		var merged StateUpdate
		for _, u := range rapid.SliceOfN(anyUpdate(), 1, 5).Draw(t, "updates") {
			if gathered.Apply(u) == nil {
				merged = merged.Merge(u)
			}
		}
		require.NoError(t, one.Apply(merged))
		require.Empty(t, cmp.Diff(gathered, one))

		var stored StateUpdate
		data, err := json.Marshal(merged)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &stored))
		read := before.Clone()
		require.NoError(t, read.Apply(stored))
		require.Empty(t, cmp.Diff(gathered, read), "also as it travels")
	})
}

func TestMergeIsAssociative(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyUpdate().Draw(t, "a"), anyUpdate().Draw(t, "b"), anyUpdate().Draw(t, "c")
		left := anyState(t)
		right := left.Clone()
		errLeft, errRight := left.Apply(a.Merge(b).Merge(c)), right.Apply(a.Merge(b.Merge(c)))
		require.Equal(t, errLeft == nil, errRight == nil)
		require.Empty(t, cmp.Diff(left, right))
	})
}

func TestUpdatesAndStatesShareNothing(t *testing.T) {
	t.Parallel()
	text := func(t *rapid.T, v any) string {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		return string(data)
	}
	rapid.Check(t, func(t *rapid.T) {
		s, u, more := anyState(t), anyUpdate().Draw(t, "update"), anyUpdate().Draw(t, "more")
		clone := s.Clone()
		require.Empty(t, cmp.Diff(s, clone))
		want := text(t, s)
		clone.scribble()
		require.Equal(t, want, text(t, s), "a clone is on its own")

		before, after := text(t, u), text(t, more)
		_ = u.Merge(more).Merge(u) // for what it does to them
		require.Equal(t, before, text(t, u), "merging leaves both as they are")
		require.Equal(t, after, text(t, more))

		copied := s // as a caller may who only reads
		if copied.Apply(u) != nil {
			return
		}
		require.Equal(t, want, text(t, s), "a state that was copied by value does not see the update")
		got := text(t, copied)
		u.scribble()
		require.Equal(t, got, text(t, copied), "the state keeps nothing of the update's")
	})
}

func TestStateAndUpdateRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		data, err := json.Marshal(s)
		require.NoError(t, err)
		var read State
		require.NoError(t, json.Unmarshal(data, &read))
		require.Empty(t, cmp.Diff(s, read))

		u := anyUpdate().Draw(t, "update")
		data, err = json.Marshal(u)
		require.NoError(t, err)
		var again StateUpdate
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, u.IsZero(), again.IsZero())
		next := s.Clone()
		require.Equal(t, s.Apply(u) == nil, next.Apply(again) == nil)
		require.Empty(t, cmp.Diff(s, next))
	})
}

// Only a second sandbox is refused, and then nothing is taken.
func TestOnlyTheSandboxRefuses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, u := anyState(t), anyUpdate().Draw(t, "update")
		before := s.Clone()
		if err := s.Apply(u); err != nil {
			require.NotNil(t, before.Sandbox)
			require.NotNil(t, u.Sandbox)
			require.NotEqual(t, before.Sandbox.ID, u.Sandbox.ID)
			require.NotEqual(t, before.Sandbox.ID, u.Sandbox.From)
			require.Empty(t, cmp.Diff(before, s))
		}
	})
}

func TestAClearingOfNothingTravels(t *testing.T) {
	t.Parallel()
	var todos []Todo
	var files []UploadedFile
	var images map[string]ViewedImage
	data, err := json.Marshal(StateUpdate{Todos: &todos, UploadedFiles: &files, ViewedImages: &images})
	require.NoError(t, err)
	require.JSONEq(t, `{"todos":[],"uploaded_files":[],"viewed_images":{}}`, string(data))
	require.Nil(t, todos, "what was encoded stays as it was")
}

func TestMergedJSONIsSmall(t *testing.T) {
	t.Parallel()
	add := map[string]ViewedImage{"/a": {Size: 1}}
	clear := map[string]ViewedImage{}
	encode := func(u StateUpdate) string {
		data, err := json.Marshal(u)
		require.NoError(t, err)
		return string(data)
	}
	require.NotContains(t, encode(StateUpdate{ViewedImages: &add}), "anew")
	both := StateUpdate{ViewedImages: &clear}.Merge(StateUpdate{ViewedImages: &add})
	require.JSONEq(t, `{"viewed_images":{"/a":{"mime_type":"","size":1,"actual_path":""}},"anew":{"viewed_images":true}}`, encode(both))
	require.JSONEq(t, `{"viewed_images":{}}`, encode(both.Merge(StateUpdate{ViewedImages: &clear})))
}
