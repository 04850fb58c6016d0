package activities

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/config"
	"deerflow/internal/step"
)

// edited is the configuration with another first model, as an edit of the file
// brings it: what was handed out before stays as it was.
func (w *world) edited(change func(*config.Model)) {
	next := *w.cfg
	next.Models = slices.Clone(next.Models)
	change(&next.Models[0])
	w.cfg = &next
}

// A run that is at work outlives edits of the configuration, and no key goes to
// a host that it was not configured for.
func TestARunKeepsItsModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan, err := w.acts.plan(t.Context(), w.started.PlanHash)
	require.NoError(t, err)
	first, err := w.acts.chatter(plan)
	require.NoError(t, err)

	w.edited(func(m *config.Model) { m.BaseURL, m.APIKey = "http://elsewhere.invalid/v1", "their-key" })
	moved, err := w.acts.chatter(plan)
	require.NoError(t, err)
	require.Same(t, first, moved, "a name that leads elsewhere is for new runs")
	w.answer = says("still there")
	_, err = w.callModel()
	require.NoError(t, err)

	w.edited(func(m *config.Model) { m.Name = "other" })
	gone, err := w.acts.chatter(plan)
	require.NoError(t, err)
	require.Same(t, first, gone)

	again, err := New(w.acts.o)
	require.NoError(t, err)
	_, err = again.chatter(plan)
	require.ErrorContains(t, err, `model "kit" is not in the configuration any more, or is somewhere else`, "a new process has no key for it")

	w.edited(func(m *config.Model) { m.Name, m.BaseURL, m.APIKey = "kit", w.endpoint, "next-key" })
	renewed, err := w.acts.chatter(plan)
	require.NoError(t, err)
	require.NotSame(t, first, renewed, "a new key is used at once")
}

// A loop that goes on after a question keeps its plan, unless the model of it
// cannot be reached as it was.
func TestAWaitingRunKeepsItsPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept := func(run string) bool {
		plan, err := w.acts.resolve(t.Context(), step.StartRunInput{Ref: ref("t1", run, 0), KeepPlan: w.started.PlanHash})
		require.NoError(t, err)
		hash, _, err := plan.Hash()
		require.NoError(t, err)
		return hash == w.started.PlanHash
	}
	other := w.cfg.Models[0]
	other.Name = "other"
	next := *w.cfg
	next.Models, next.Thread.MaxTurns = append([]config.Model{other}, w.cfg.Models...), 3
	w.cfg = &next
	require.True(t, kept("r2"), "another default and other limits are for new runs")
	w.cfg.Models[1].BaseURL = "http://elsewhere.invalid/v1"
	require.False(t, kept("r3"))
}
