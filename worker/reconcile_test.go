package worker

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
	"deerflow/workflows"
)

// startOperation is one that nobody looks into.
type startOperation struct {
	client.WithStartWorkflowOperation
}

// scene is a reconciler on a real store and a Temporal that is played.
type scene struct {
	t *testing.T
	r *Reconciler
	c *mocks.Client
}

func newScene(t *testing.T) *scene {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "deerflow.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	c := &mocks.Client{}
	c.On("CheckHealth", mock.Anything, mock.Anything).Return(&client.CheckHealthResponse{}, nil).Maybe()
	c.On("NewWithStartWorkflowOperation", mock.Anything, step.ThreadWorkflow, mock.Anything).Return(startOperation{}).Maybe()
	c.On("DescribeWorkflowExecution", mock.Anything, mock.Anything, "").Return(nil, serviceerror.NewNotFound("no such workflow")).Maybe()
	c.On("ExecuteWorkflow", mock.Anything, mock.Anything, step.ThreadWorkflow, mock.Anything).Return(&mocks.WorkflowRun{}, nil).Maybe()
	threads := threadclient.New(threadclient.Options{Temporal: c, Timeout: time.Second})
	return &scene{t: t, c: c, r: &Reconciler{Store: st, Threads: threads, Logger: slog.New(slog.DiscardHandler)}}
}

func (s *scene) submitted(threadID, runID string) {
	s.t.Helper()
	again, err := json.Marshal(step.SubmitRun{RunID: runID, Messages: 1})
	require.NoError(s.t, err)
	_, _, err = s.r.Store.SubmitRun(s.t.Context(), store.NewRun{
		Run:      store.Run{ID: runID, ThreadID: threadID, User: "default", Submit: again},
		Messages: []thread.Message{thread.Human(runID+"-in", "hello")}, CreateThread: true,
	})
	require.NoError(s.t, err)
}

// takes answers submissions; order collects the update ids.
func (s *scene) takes(order *[]string, err error) {
	handle := &mocks.WorkflowUpdateHandle{}
	handle.On("Get", mock.Anything, mock.Anything).Return(err)
	s.c.On("UpdateWithStartWorkflow", mock.Anything, mock.Anything).Run(func(args mock.Arguments) {
		o, ok := args.Get(1).(client.UpdateWithStartWorkflowOptions)
		require.True(s.t, ok)
		submit, ok := o.UpdateOptions.Args[0].(step.SubmitRun)
		require.True(s.t, ok)
		require.Positive(s.t, submit.Again, "an update of its own")
		*order = append(*order, submit.RunID)
	}).Return(handle, nil)
}

func TestBootSubmitsWhatWasNeverTakenOldestFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.submitted("t", "first")
	s.submitted("t", "second")
	var order []string
	s.takes(&order, nil)
	require.NoError(t, s.r.Boot(t.Context(), nil))
	require.Equal(t, []string{"first", "second"}, order, "E13: under their own ids")
}

func TestBootWithdrawsARunThatTheThreadRefuses(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.submitted("t", "late")
	var order []string
	s.takes(&order, temporal.NewNonRetryableApplicationError("busy", step.ErrBusy, nil))
	require.NoError(t, s.r.Boot(t.Context(), nil))
	_, err := s.r.Store.GetRun(t.Context(), "t", "late")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestBootBesideAnAPILeavesAYoungRunToIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.r.Shared = true
	s.submitted("t", "young")
	var order []string
	s.takes(&order, temporal.NewNonRetryableApplicationError("busy", step.ErrBusy, nil))
	require.NoError(t, s.r.Boot(t.Context(), nil))
	require.Len(t, order, 1)
	run, err := s.r.Store.GetRun(t.Context(), "t", "young")
	require.NoError(t, err, "the API that stored it asks again, or withdraws it")
	require.Equal(t, thread.RunPending, run.Status)
}

func TestBootStartsAThreadThatWaitsFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.submitted("t", "r")
	_, err := s.r.Store.StartRun(t.Context(), store.StartRun{Ref: step.Ref{Thread: "t", User: "default", Run: "r"}, At: time.Now()})
	require.NoError(t, err)
	_, err = s.r.Store.Commit(t.Context(), step.CommitInput{
		Ref: step.Ref{Thread: "t", User: "default", Run: "r", Step: 1}, CheckpointID: "c1", At: time.Now(), Checkpoint: []byte("{}"),
		Status: thread.StatusInterrupted, Ends: []thread.End{{RunID: "r", Status: thread.RunSuccess}},
	}, func(m *thread.Message, pos int64) thread.Digest { return m.Digest(pos) })
	require.NoError(t, err)
	active, err := s.r.Store.ActiveThreads(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.r.Boot(t.Context(), active))
	s.c.AssertCalled(t, "ExecuteWorkflow", mock.Anything,
		mock.MatchedBy(func(o client.StartWorkflowOptions) bool { return o.ID == "thread/t" }), step.ThreadWorkflow, mock.Anything)
}

// What a newer program has begun is left alone, with all that waits behind it.
func TestWorkOfANewerProgramIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.submitted("t", "r")
	_, err := s.r.Store.StartRun(t.Context(), store.StartRun{
		Ref: step.Ref{Thread: "t", User: "default", Run: "r"}, LoopVersion: workflows.LoopVersion + 1, At: time.Now(),
	})
	require.NoError(t, err)
	s.submitted("t", "behind")
	active, err := s.r.Store.ActiveThreads(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"t"}, active)
	require.NoError(t, s.r.Boot(t.Context(), active))
	require.NoError(t, s.r.round(t.Context(), time.Now().Add(time.Hour)))
	s.c.AssertNotCalled(t, "ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything)
	s.c.AssertNotCalled(t, "UpdateWithStartWorkflow", mock.Anything, mock.Anything)
	run, err := s.r.Store.GetRun(t.Context(), "t", "behind")
	require.NoError(t, err)
	require.Equal(t, thread.RunPending, run.Status)
}

func TestARoundLeavesYoungRunsAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.submitted("t", "young")
	require.NoError(t, s.r.round(t.Context(), time.Now().Add(-time.Hour)))
	s.c.AssertNotCalled(t, "UpdateWithStartWorkflow", mock.Anything, mock.Anything)
	var order []string
	s.takes(&order, nil)
	require.NoError(t, s.r.round(t.Context(), time.Now().Add(time.Hour)))
	require.Equal(t, []string{"young"}, order)
}

func TestBootTellsThatTemporalIsAway(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.submitted("t", "r")
	s.c.On("UpdateWithStartWorkflow", mock.Anything, mock.Anything).Return(nil, serviceerror.NewUnavailable("away"))
	require.ErrorIs(t, s.r.Boot(t.Context(), nil), threadclient.ErrUnavailable)
	run, err := s.r.Store.GetRun(t.Context(), "t", "r")
	require.NoError(t, err)
	require.Equal(t, thread.RunPending, run.Status, "nothing is lost")
}
