package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/agent"
	"deerflow/internal/model"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

func TestStartRunFixesThePlanAndTakesTheMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, "kit", w.started.Plan.Model)
	require.Len(t, w.started.Messages, 1)
	require.Equal(t, int64(0), w.started.Messages[0].Pos)
	plan, err := w.acts.plan(t.Context(), w.started.PlanHash)
	require.NoError(t, err)
	require.NotContains(t, string(plan.Model), "api_key")
	run, err := w.store.GetRun(t.Context(), "t1", "r1")
	require.NoError(t, err)
	require.Equal(t, thread.RunRunning, run.Status)
}

func TestAnAnswerIsStoredOnceAndPaidForOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = says("the answer")
	first, err := w.callModel()
	require.NoError(t, err)
	again, err := w.callModel()
	require.NoError(t, err)
	require.Equal(t, first, again, "a retried activity that finds its row complete returns it")
	require.Equal(t, 1, w.asked)
	require.Equal(t, "the answer", first.Message.Text)
	require.Equal(t, 1, w.events(store.EventDelta))
	require.Equal(t, 2, w.events(store.EventMessage), "the question's and the answer's")
}

func TestALostAttemptIsResetAndReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// An attempt that died after it had streamed something.
	claim, err := w.store.Claim(t.Context(), store.Claim{Ref: ref("t1", "r1", 1), MessageID: "r1-1"})
	require.NoError(t, err)
	zombie := store.Owner{Ref: ref("t1", "r1", 1), MessageID: "r1-1", Claim: claim.Claim}
	piece := store.NewEvent{Type: store.EventDelta, Data: store.Delta{MessageID: "r1-1", Text: "half"}}
	require.NoError(t, w.store.Append(t.Context(), zombie, piece))
	w.answer = says("whole")
	out, err := w.callModel()
	require.NoError(t, err)
	require.Equal(t, "whole", out.Message.Text)
	require.Equal(t, 1, w.events(store.EventReset))
	require.ErrorIs(t, w.store.Append(t.Context(), zombie, piece), store.ErrFenced, "a zombie writes nothing more")
}

func TestModelErrorsBecomeOneRetryLayer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		err       *model.Error
		kind      string
		retryable bool
		delay     time.Duration
	}{
		{"C10 quota", &model.Error{Class: model.ClassQuota, Message: "no money"}, step.ErrModel, false, 0},
		{"C10 auth", &model.Error{Class: model.ClassAuth, Status: 401}, step.ErrModel, false, 0},
		{"A22 Retry-After", &model.Error{Class: model.ClassBusy, Retryable: true, RetryAfter: 3 * time.Second}, step.ErrModel, true, 3 * time.Second},
		{"A22 Retry-After of an hour", &model.Error{Class: model.ClassBusy, Retryable: true, RetryAfter: time.Hour}, step.ErrRateLimited, false, 0},
		{"outage", &model.Error{Class: model.ClassTransient, Status: 503, Retryable: true}, step.ErrModel, true, 0},
		{"A25 idle timeout, last try", &model.Error{Class: model.ClassIdleTimeout, Retryable: true, MaxAttempts: 1}, step.ErrModel, false, 0},
		{"context length", &model.Error{Class: model.ClassContextLength}, step.ErrContextLength, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			failing := func(ctx context.Context) error { return modelError(ctx, retries{call: "m"}, tc.err) }
			w.env.RegisterActivityWithOptions(failing, activity.RegisterOptions{Name: "failing"})
			_, err := w.env.ExecuteActivity("failing")
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app)
			require.Equal(t, tc.kind, app.Type())
			require.Equal(t, tc.retryable, !app.NonRetryable())
			require.Equal(t, tc.delay, app.NextRetryDelay())
			var f step.ModelFailure
			require.NoError(t, app.Details(&f))
			require.Equal(t, string(tc.err.Class), f.Reason)
		})
	}
}

// The cases of spec 4.8 and 22.2: how often, and after which wait.
func TestRetries(t *testing.T) {
	t.Parallel()
	rules := retries{call: "r1-1", policy: agent.ModelCallPolicy{MaxAttempts: 3, BaseDelay: time.Second, MaxDelay: 8 * time.Second, BurstDelay: 5 * time.Second}}
	for _, tc := range []struct {
		name          string
		err           error
		attempts      int // how many are made
		least, utmost time.Duration
	}{
		{"429 without more", &model.Error{Class: model.ClassTransient, Status: 429, Retryable: true}, 3, time.Second, 3 * time.Second},
		{"Retry-After to the letter", &model.Error{Class: model.ClassTransient, Retryable: true, RetryAfter: 2 * time.Second}, 3, 2 * time.Second, 2 * time.Second},
		{"burst", &model.Error{Class: model.ClassBurstRate, Retryable: true, MaxAttempts: 2}, 2, 5 * time.Second, 8 * time.Second},
		{"silence", &model.Error{Class: model.ClassIdleTimeout, Retryable: true, MaxAttempts: 2}, 2, time.Second, 3 * time.Second},
		{"more than the policy has", &model.Error{Class: model.ClassBusy, Retryable: true, MaxAttempts: 9}, 3, time.Second, 3 * time.Second},
		{"quota", &model.Error{Class: model.ClassQuota}, 1, 0, 0},
		{"Retry-After of an hour", &model.Error{Class: model.ClassBusy, Retryable: true, RetryAfter: time.Hour}, 1, 0, 0},
		{"a stop", context.Canceled, 1, 0, 0},
		{"an answer", nil, 1, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			made := 1
			for {
				wait, again := rules.again(tc.err, made)
				if !again {
					require.Zero(t, wait)
					break
				}
				if made == 1 {
					require.GreaterOrEqual(t, wait, tc.least)
					require.LessOrEqual(t, wait, tc.utmost)
				}
				made++
			}
			require.Equal(t, tc.attempts, made)
		})
	}
}

func TestReadersAreToldOfARetryOnlyWhenThereIsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusTooManyRequests)
		_, _ = rw.Write([]byte(`{"error":{"message":"Request rate increased too quickly","code":"limit_burst_rate"}}`))
	}
	_, err := w.callModel()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.GreaterOrEqual(t, app.NextRetryDelay(), 5*time.Second)
	events, err := w.store.Events(t.Context(), "t1", 0, 1000)
	require.NoError(t, err)
	var told map[string]any
	for _, e := range events {
		if e.Type == store.EventCustom {
			require.NoError(t, json.Unmarshal(e.Data, &told))
		}
	}
	require.Equal(t, "llm_retry", told["type"])
	require.InDelta(t, 2, told["max_attempts"], 0, "the attempts that there really are")
	require.InDelta(t, app.NextRetryDelay().Milliseconds(), told["wait_ms"], 0)

	last := newWorld(t)
	last.cfg.LLMCall.RetryMaxAttempts = 1
	last.start("t2", "r2", "hello")
	last.answer = w.answer
	in := last.modelInput()
	in.Ref, in.MessageID, in.PlanHash = ref("t2", "r2", 1), "r2-1", last.started.PlanHash
	_, err = last.env.ExecuteActivity(step.CallModel, in)
	require.Error(t, err)
	events, err = last.store.Events(t.Context(), "t2", 0, 1000)
	require.NoError(t, err)
	for _, e := range events {
		require.NotEqual(t, store.EventCustom, e.Type, "there is no other attempt")
	}
}

func TestTheProvidersSentenceReachesTheWorkflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusTooManyRequests)
		_, _ = rw.Write([]byte(`{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`))
	}
	_, err := w.callModel()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.True(t, app.NonRetryable())
	var f step.ModelFailure
	require.NoError(t, app.Details(&f))
	require.Contains(t, f.Message, "You exceeded your current quota")
	require.Equal(t, 1, w.asked)
}

func TestADeletedThreadEndsTheStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = says("too late")
	require.NoError(t, w.store.DeleteThread(t.Context(), "t1"))
	_, err := w.callModel()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.Equal(t, step.ErrThreadGone, app.Type())
	require.True(t, app.NonRetryable())
}

// askFor lets the model ask for a tool, and gives the call: of the first one as
// message r1-2, behind it r1-4 and so on.
func (w *world) askFor(name, args string) step.CallToolInput {
	w.t.Helper()
	asker := 2*w.calls + 1
	w.calls++
	w.answer = says("", toolCall("c1", name, args))
	in := w.modelInput()
	in.Step, in.MessageID, in.Pos = asker, thread.MessageID("r1", asker), int64(asker)
	value, err := w.env.ExecuteActivity(step.CallModel, in)
	require.NoError(w.t, err)
	var out step.CallModelResult
	require.NoError(w.t, value.Get(&out))
	require.Len(w.t, out.Message.Calls, 1)
	return step.CallToolInput{
		Ref: ref("t1", "r1", asker+1), MessageID: thread.MessageID("r1", asker+1), Pos: int64(asker + 1),
		Asker: in.MessageID, AskerPos: in.Pos, Call: out.Message.Calls[0].ID, Name: name, PlanHash: w.started.PlanHash,
	}
}

func (w *world) callTool(in step.CallToolInput) (step.CallToolResult, error) {
	w.t.Helper()
	var out step.CallToolResult
	value, err := w.env.ExecuteActivity(step.CallTool, in)
	if err != nil {
		return out, err
	}
	return out, value.Get(&out)
}

func TestAToolRunsOnTheArgumentsOfTheRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.askFor("write_file", `{"description":"x","path":"/mnt/user-data/workspace/a.txt","content":"hello"}`)
	out, err := w.callTool(in)
	require.NoError(t, err)
	require.False(t, out.Message.Error, out.Message.Text)
	require.NotNil(t, out.State.Sandbox)
	again, err := w.callTool(in)
	require.NoError(t, err)
	require.Equal(t, out, again)
}

func TestAnUnsafeToolThatWasStartedIsNotRunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mark := filepath.Join(t.TempDir(), "mark")
	in := w.askFor("bash", `{"description":"x","command":"echo x >> `+mark+`"}`)
	// An attempt claimed the call and died.
	_, err := w.store.Claim(t.Context(), store.Claim{Ref: in.Ref, MessageID: in.MessageID, Unsafe: true})
	require.NoError(t, err)
	out, err := w.callTool(in)
	require.NoError(t, err)
	require.True(t, out.Message.Error)
	require.Contains(t, out.Message.Text, "may have run", "M03")
	require.NoFileExists(t, mark)
}

func TestAReplyTakesTheToolsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.askFor("bash", `{"description":"x","command":"touch x"}`)
	in.Reply = &step.Reply{Text: "Error: not today", Error: true}
	out, err := w.callTool(in)
	require.NoError(t, err)
	require.True(t, out.Message.Error)
	require.Equal(t, "Error: not today", out.Message.Text)
}

func TestAQuestionComesWithItsCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.askFor("ask_clarification", `{"question":"Which?","clarification_type":"missing_info","options":["a","b"]}`)
	in.MessageID = thread.ClarificationID("c1")
	out, err := w.callTool(in)
	require.NoError(t, err)
	require.NotNil(t, out.Interrupt)
	require.Equal(t, "clarification:c1", out.Interrupt.ID)
	require.Len(t, out.Interrupt.Value.Options, 2)
	again, err := w.callTool(in)
	require.NoError(t, err)
	require.Equal(t, out.Interrupt, again.Interrupt, "the row gives the card back")
}

func TestACommitRidesOnTheNextStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = says("the answer")
	in := w.modelInput()
	in.Commit = &step.CommitInput{
		Ref: ref("t1", "r1", 9), CheckpointID: "0190", At: time.Now(), Checkpoint: []byte(`{}`),
		Cursor: in.Cursor, NextPos: 1, Status: thread.StatusBusy,
	}
	_, err := w.env.ExecuteActivity(step.CallModel, in)
	require.NoError(t, err)
	head, err := w.store.LoadHead(t.Context(), "t1", nil)
	require.NoError(t, err)
	require.NotNil(t, head.Checkpoint)
	require.Equal(t, "0190", head.Checkpoint.ID)
}

func TestLoadThreadGivesTheDigestsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = says("the answer")
	made, err := w.callModel()
	require.NoError(t, err)
	_, err = w.env.ExecuteActivity(step.Commit, step.CommitInput{
		Ref: ref("t1", "r1", 2), CheckpointID: "0190", At: time.Now(), Checkpoint: []byte(`{"plan_hash":"` + w.started.PlanHash + `"}`),
		Cursor: thread.Cursor{Segments: []thread.Segment{{From: 0, To: 2}}}, NextPos: 2, Status: thread.StatusIdle,
		Ends: []thread.End{{RunID: "r1", Status: thread.RunSuccess}},
	})
	require.NoError(t, err)
	value, err := w.env.ExecuteActivity(step.LoadThread, step.LoadThreadInput{Thread: "t1"})
	require.NoError(t, err)
	var out step.LoadThreadResult
	require.NoError(t, value.Get(&out))
	require.Equal(t, "0190", out.Head.ID)
	require.Equal(t, w.started.Plan, *out.Plan)
	require.Len(t, out.Digests, 2)
	require.Equal(t, made.Message, out.Digests[1])
	require.Equal(t, []string{"r1"}, out.Ended)
}

func TestStreamGathersPieces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claim, err := w.store.Claim(t.Context(), store.Claim{Ref: ref("t1", "r1", 1), MessageID: "r1-1"})
	require.NoError(t, err)
	s := newStreamer(t.Context(), w.store, store.Owner{Ref: ref("t1", "r1", 1), MessageID: "r1-1", Claim: claim.Claim})
	for range 200 {
		require.NoError(t, s.add(model.Delta{Text: "x"}))
	}
	rest := s.end()
	written := w.events(store.EventDelta)
	require.GreaterOrEqual(t, written, 1, "the first piece goes out at once")
	require.Less(t, written, 100, "the others are gathered")
	require.Len(t, rest, 1)
}

func TestPolicyOutlivesTenMinutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := callPolicy(w.cfg, w.cfg.Models[0])
	total := time.Duration(0)
	const calls = 100
	for call := range calls {
		for attempt := range int(p.MaxAttempts) - 1 {
			total += p.ModelDelay(fmt.Sprint(call), attempt+1, false)
		}
	}
	require.InDelta(t, longestOutage.Minutes(), (total / calls).Minutes(), 1, "in the mean of many calls")
	w.cfg.LLMCall.RetryMaxAttempts = 3
	require.Equal(t, int32(3), callPolicy(w.cfg, w.cfg.Models[0]).MaxAttempts)
}

func TestNoSecretStandsInADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Models[0].APIKey = "sk-very-secret"
	w.answer = says("the answer")
	w.start("t2", "r2", "hello")
	for _, name := range []string{"deerflow.db", "deerflow.db-wal"} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(w.dir), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		require.NotContains(t, string(data), "sk-very-secret", name)
	}
}
