package activities

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/config"
	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

func (w *world) summarizeInput() step.SummarizeInput {
	return step.SummarizeInput{
		Ref: ref("t1", "r1", 1), MessageID: "r1-1", Pos: 1, PlanHash: w.started.PlanHash,
		Cursor: thread.Cursor{Segments: []thread.Segment{{From: 0, To: 1}}}, Plain: true, Count: 1,
	}
}

func (w *world) summarize(in step.SummarizeInput) (step.SummarizeResult, error) {
	w.t.Helper()
	var out step.SummarizeResult
	value, err := w.env.ExecuteActivity(step.Summarize, in)
	if err != nil {
		return out, err
	}
	return out, value.Get(&out)
}

func TestSummarize(t *testing.T) {
	w := newWorld(t)
	var asked string
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = string(body)
		says("The user said hello.")(rw, r)
	}
	out, err := w.summarize(w.summarizeInput())
	require.NoError(t, err)
	require.Equal(t, thread.NameSummary, out.Message.Name)
	require.True(t, out.Message.Hidden)
	require.False(t, out.Message.UserText())
	require.Contains(t, asked, "User: hello")
	require.NotContains(t, asked, `"tools"`)
	row, err := w.store.GetMessage(t.Context(), "t1", "r1-1")
	require.NoError(t, err)
	require.True(t, row.Message.IsSummary())
	require.Equal(t, "The user said hello.", row.Message.Content.String())
	require.Zero(t, w.events(store.EventDelta), "it is not streamed (D10)")
	require.Equal(t, 1, w.events(store.EventCustom))
	again, err := w.summarize(w.summarizeInput())
	require.NoError(t, err)
	require.Equal(t, out, again)
	require.Equal(t, 1, w.asked, "a finished summary is not paid for twice")

	// The next one takes up the one before.
	in := w.summarizeInput()
	before := int64(1)
	in.MessageID, in.Pos, in.Step, in.Previous = "r1-2", 2, 2, &before
	_, err = w.summarize(in)
	require.NoError(t, err)
	require.Contains(t, asked, `<existing_summary>\nThe user said hello.`)

	// The run starts again in a workflow that takes it up to end it: the summaries
	// are no messages of it.
	value, err := w.env.ExecuteActivity(step.StartRun, step.StartRunInput{Ref: ref("t1", "r1", 0), Stop: true})
	require.NoError(t, err)
	var started step.StartRunResult
	require.NoError(t, value.Get(&started))
	require.Len(t, started.Messages, 1)
}

func TestSummarizeWithoutAModel(t *testing.T) {
	w := newWorld(t)
	w.answer = says("", toolCall("c", "ls", `{}`))
	in := w.summarizeInput()
	in.Plain = false
	out, err := w.summarize(in)
	require.NoError(t, err)
	require.Nil(t, out.Message)
	require.Contains(t, out.Failed, "model kit wrote no summary: its answer has no text")
	_, err = w.store.GetMessage(t.Context(), "t1", "r1-1")
	require.ErrorIs(t, err, store.ErrNotFound)
	out, err = w.summarize(w.summarizeInput())
	require.NoError(t, err)
	require.Contains(t, out.Message.Text, "No model could write a summary")
	require.Equal(t, 2, w.events(store.EventCustom), "readers are told")

	// The demo model follows its script, whatever it is asked.
	w.cfg.Models[0].Use = config.UseDemo
	in = w.summarizeInput()
	in.MessageID, in.Pos, in.Step = "r1-2", 2, 2
	asked := w.asked
	out, err = w.summarize(in)
	require.NoError(t, err)
	require.Contains(t, out.Message.Text, "No model could write a summary")
	require.Equal(t, asked, w.asked)
}

// An outage is worth another attempt, before a model is done without.
func TestSummarizeIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.answer = func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "busy", http.StatusServiceUnavailable) }
	_, err := w.summarize(w.summarizeInput())
	require.ErrorContains(t, err, "model kit wrote no summary")
}

func TestTheIdsOfCompactedCallsAreKnown(t *testing.T) {
	w := newWorld(t)
	w.answer = says("", toolCall("call_0", "ls", `{"path":"/mnt/user-data"}`))
	first, err := w.callModel()
	require.NoError(t, err)
	require.Equal(t, "call_0", first.Message.Calls[0].ID)
	w.answer = says("They looked.")
	in := w.summarizeInput()
	in.MessageID, in.Pos, in.Step = "r1-2", 2, 2
	_, err = w.summarize(in)
	require.NoError(t, err)
	w.answer = says("", toolCall("call_0", "ls", `{"path":"/mnt/user-data"}`))
	next := w.modelInput()
	next.MessageID, next.Pos, next.Step = "r1-3", 3, 3
	next.Cursor = thread.Cursor{Segments: []thread.Segment{{From: 2, To: 3}, {From: 0, To: 1}}}
	value, err := w.env.ExecuteActivity(step.CallModel, next)
	require.NoError(t, err)
	var out step.CallModelResult
	require.NoError(t, value.Get(&out))
	require.NotEqual(t, "call_0", out.Message.Calls[0].ID, "clients find results by the id in the whole transcript")
	require.True(t, strings.HasPrefix(out.Message.Calls[0].ID, "call_0"))
}

func TestResolvePlan(t *testing.T) {
	w := newWorld(t)
	w.cfg.Models[0].ContextWindow, w.cfg.Models[0].MaxTokens = 32_000, 4000
	w.cfg.Summarization.Enabled = true
	w.cfg.Summarization.Trigger = []config.Measure{{Type: "tokens", Value: 9000}}
	value, err := w.env.ExecuteActivity(step.ResolvePlan, step.ResolvePlanInput{Ref: ref("t1", "update", 1)})
	require.NoError(t, err)
	var out step.ResolvePlanResult
	require.NoError(t, value.Get(&out))
	require.False(t, out.Plan.Summarization.Disabled)
	require.Equal(t, []agent.Measure{{Type: "tokens", Value: 9000}}, out.Plan.Summarization.Triggers)
	require.Equal(t, agent.Measure{Type: "messages", Value: 20}, out.Plan.Summarization.Keep)
	require.Equal(t, []int{32_000, 4000}, []int{out.Plan.Window.Size, out.Plan.Window.Output})
	require.Greater(t, out.Plan.Window.Fixed, 500, "prompt and schemas")
	data, err := w.store.GetPlan(t.Context(), out.PlanHash)
	require.NoError(t, err)
	require.True(t, json.Valid(data))
}
