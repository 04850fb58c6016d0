package activities

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/config"
	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

func TestAnswerRules(t *testing.T) {
	t.Parallel()
	c := config.Defaults()
	var s agent.Summary
	answerRules(&s, c, c.Models[0], thread.RunOptions{})
	require.Equal(t, agent.Summary{
		TokenUsage: true, Title: &agent.TitleRule{MaxWords: 6, MaxChars: 60}, Safety: &agent.SafetyRule{},
	}, s)

	c.TokenUsage.Enabled, c.Title.Enabled, c.SafetyFinishReason.Enabled, c.TokenBudget.Enabled = false, false, false, true
	c.Models[0].SupportsVision = true
	s = agent.Summary{}
	answerRules(&s, c, c.Models[0], thread.RunOptions{PlanMode: true})
	require.Equal(t, agent.Summary{
		PlanMode: true, Vision: true, Budget: &agent.BudgetRule{MaxTokens: 200_000, Warn: 0.8, Hard: 1},
	}, s)
}

// A run has the tools that it has a use for.
func TestWhichToolsARunHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tools := func(o thread.RunOptions) []string {
		plan, err := w.acts.newPlan(w.cfg, o)
		require.NoError(t, err)
		var names []string
		for _, spec := range plan.Tools {
			names = append(names, spec.Name)
		}
		require.Len(t, plan.Summary.Tools, len(names))
		return names
	}
	without := tools(thread.RunOptions{})
	require.NotContains(t, without, "write_todos")
	require.NotContains(t, without, "view_image")
	require.Contains(t, without, "ask_clarification")
	require.Contains(t, tools(thread.RunOptions{PlanMode: true}), "write_todos")
	require.NotContains(t, tools(thread.RunOptions{NonInteractive: true}), "ask_clarification")
	w.cfg.Models[0].SupportsVision = true
	require.Contains(t, tools(thread.RunOptions{}), "view_image")
}

// What the tokens went to is judged by the plan as it was before the answer.
func TestAnAnswerIsStoredWithWhatItsTokensWentTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = says("", toolCall("c1", "write_todos", `{"todos":[{"content":"a","status":"completed"}]}`))
	in := w.modelInput()
	in.Attribute = true
	todos := []thread.Todo{{Content: "a", Status: thread.TodoInProgress}}
	in.Commit = &step.CommitInput{
		Ref: ref("t1", "r1", 1), CheckpointID: "0001", Checkpoint: []byte("{}"), NextPos: 1, Status: thread.StatusBusy,
		State: thread.State{Todos: todos}, Update: thread.StateUpdate{Todos: &todos},
	}
	in.Step = 2
	_, err := w.env.ExecuteActivity(step.CallModel, in)
	require.NoError(t, err)
	row, err := w.store.GetMessage(t.Context(), "t1", "r1-1")
	require.NoError(t, err)
	stamp, ok := row.Message.AdditionalKwargs[agent.KeyAttribution].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "todo_update", stamp["kind"])
	action, ok := stamp["actions"].([]any)[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "todo_complete", action["kind"])
}

// B13 for a reason that an operator has named: nothing of the call is stored,
// and readers take the message as it stands in the end.
func TestB13AConfiguredReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.SafetyFinishReason.Detectors = []config.SafetyDetector{{Use: "openai_compatible", Config: config.SafetyDetectorConfig{Reasons: []string{"Moderated"}}}}
	w.start("t2", "r2", "hello")
	w.answer = func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"Writing.","tool_calls":[` +
			`{"id":"w","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"half"}}]},"finish_reason":"moderated"}]}`))
	}
	in := w.modelInput()
	in.Ref, in.MessageID, in.PlanHash, in.Attribute = ref("t2", "r2", 1), "r2-1", w.started.PlanHash, true
	value, err := w.env.ExecuteActivity(step.CallModel, in)
	require.NoError(t, err)
	var out step.CallModelResult
	require.NoError(t, value.Get(&out))
	require.True(t, out.Safety)
	require.Empty(t, out.Message.Calls)
	row, err := w.store.GetMessage(t.Context(), "t2", "r2-1")
	require.NoError(t, err)
	require.Contains(t, row.Message.Content.String(), "Writing.\n\nThe provider ended this answer for safety (finish_reason: moderated)")
	require.Equal(t, "final_answer", row.Message.AdditionalKwargs[agent.KeyAttribution].(map[string]any)["kind"])
	events, err := w.store.Events(t.Context(), "t2", 0, 1000)
	require.NoError(t, err)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Type)
	}
	require.Contains(t, kinds, store.EventCustom)
	require.Contains(t, kinds, store.EventReset)
}
