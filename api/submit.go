package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"deerflow/internal/failpoint"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

// healthTimeout is how long Temporal may take to say that it is there, before a
// run is stored.
const healthTimeout = 2 * time.Second

// submit checks a request for a run, stores the run with its messages and hands
// it to its thread. From the moment it returns, whoever reads sees the run.
func (s *Server) submit(c echo.Context) (store.Run, runRequest, error) {
	body, err := readObject(c)
	if err != nil {
		return store.Run{}, runRequest{}, err
	}
	r, err := s.parseRun(c, body, c.Param("thread"))
	if err != nil {
		return store.Run{}, r, err
	}
	id, err := threadParam(c)
	if err != nil {
		return store.Run{}, r, err
	}
	run, err := s.submitTo(c, id, &r)
	return run, r, err
}

// submitTo stores a checked run of a thread and hands it over.
func (s *Server) submitTo(c echo.Context, threadID string, r *runRequest) (store.Run, error) {
	t, err := s.threadFor(c, threadID, r)
	if err != nil {
		return store.Run{}, err
	}
	run, err := s.newRun(c.Request().Context(), &t, r)
	if err != nil {
		return store.Run{}, err
	}
	// The client may go now: what is stored is handed over all the same.
	ctx := context.WithoutCancel(c.Request().Context())
	if s.o.TemporalHealth != nil {
		probe, cancel := context.WithTimeout(ctx, healthTimeout)
		defer cancel()
		if err := s.o.TemporalHealth(probe); err != nil {
			return store.Run{}, unavailable(err)
		}
	}
	stored, existing, err := s.o.Store.SubmitRun(ctx, run)
	if err != nil {
		return stored, storeError(err, threadNotFound(t.ID))
	}
	if existing && stored.Status != thread.RunPending {
		return stored, nil
	}
	failpoint.Here(failpoint.RunStored, stored.ThreadID)
	return stored, s.handOver(ctx, &stored, existing)
}

// threadFor gives the thread that a run is for. One that does not exist yet has
// only an id and an owner.
func (s *Server) threadFor(c echo.Context, id string, r *runRequest) (store.Thread, error) {
	t, err := s.threadOf(c.Request().Context(), ownerOf(c), id)
	var missing *apiError
	if r.createThread && errors.As(err, &missing) && missing.status == http.StatusNotFound {
		t = store.Thread{ID: id, User: ownerOf(c)}
	} else if err != nil {
		return t, err
	}
	return t, s.checkHead(c.Request().Context(), &t, r.checkpoint)
}

// checkHead allows a run that names the newest checkpoint: that is a plain
// continuation.
func (s *Server) checkHead(ctx context.Context, t *store.Thread, id string) error {
	if id == "" || id == t.CheckpointID {
		return nil
	}
	if _, err := s.o.Store.GetCheckpoint(ctx, t.ID, id); err != nil {
		return storeError(err, checkpointNotFound(id))
	}
	return invalidField("unsupported", "A run can only go on from the newest checkpoint, "+t.CheckpointID, "body", "checkpoint_id")
}

// newRun puts the rows of a run together.
func (s *Server) newRun(ctx context.Context, t *store.Thread, r *runRequest) (store.NewRun, error) {
	reply, err := s.repliesTo(ctx, t, r)
	if err != nil {
		return store.NewRun{}, err
	}
	messages := slices.Concat(reply.messages, r.messages)
	submit := step.SubmitRun{
		RunID: uuid.NewString(), Multitask: r.multitask, Options: r.options, Messages: len(messages), Answers: reply.ids,
	}
	again, err := json.Marshal(submit)
	if err != nil {
		return store.NewRun{}, fmt.Errorf("encode run %s: %w", submit.RunID, err)
	}
	return store.NewRun{
		Run: store.Run{
			ID: submit.RunID, ThreadID: t.ID, User: t.User, AssistantID: r.assistant, Status: thread.RunPending,
			Multitask: r.multitask, Options: r.options, Submit: again, Kwargs: r.kwargs, Metadata: r.metadata, Key: r.key,
		},
		Messages: messages, CreateThread: r.createThread,
	}, nil
}

// repliesTo finds what a run answers. A repeated submission answers what it
// answered the first time, although the question is closed by now.
func (s *Server) repliesTo(ctx context.Context, t *store.Thread, r *runRequest) (answers, error) {
	reply, err := answersOf(t, r)
	if err == nil || r.key == "" {
		return reply, err
	}
	known, listErr := s.runByKey(ctx, t.ID, r.key)
	if listErr != nil {
		return reply, listErr
	}
	if !known {
		return reply, err
	}
	return answers{}, nil
}

// runByKey reports whether a run of the thread has an idempotency key.
func (s *Server) runByKey(ctx context.Context, threadID, key string) (bool, error) {
	runs, err := s.o.Store.ListRuns(ctx, threadID, store.RunQuery{})
	if err != nil {
		return false, err
	}
	for i := range runs {
		if runs[i].Key == key {
			return true, nil
		}
	}
	return false, nil
}

// handOver gives a stored run to its thread. When the thread refuses it, or
// Temporal is away, the run is taken back. Without a worker it stays: it is
// taken up when one comes.
func (s *Server) handOver(ctx context.Context, run *store.Run, again bool) error {
	var request step.SubmitRun
	if err := json.Unmarshal(run.Submit, &request); err != nil {
		return fmt.Errorf("read the submission of run %s: %w", run.ID, err)
	}
	err := s.offer(ctx, run, request)
	answer := s.unheard(ctx, run, err)
	if err == nil || errors.Is(err, threadclient.ErrNoWorker) && answer == nil {
		failpoint.Here(failpoint.RunTaken, run.ThreadID)
		return nil
	}
	if answer == nil {
		answer = s.refused(ctx, run, err)
	}
	if again {
		return answer // its first submission may be under way still
	}
	withdrawn := s.o.Store.WithdrawRun(ctx, run.ThreadID, run.ID)
	switch {
	case errors.Is(withdrawn, store.ErrNotPending):
		return nil // it was taken up after all
	case withdrawn != nil:
		return fmt.Errorf("%w; taking it back failed too: %w", err, withdrawn)
	}
	return answer
}

// A thread that was killed after its last commit needs as long as this to know
// of it.
const (
	catchUpTime  = 8 * time.Second
	catchUpPause = 50 * time.Millisecond
)

// offer submits a run. A thread that says it is busy, although the store knows
// of no other run, has not caught up with its own last commit yet, which a kill
// came right after: it is asked again.
func (s *Server) offer(ctx context.Context, run *store.Run, request step.SubmitRun) error {
	deadline := s.o.Now().Add(catchUpTime)
	for {
		_, err := s.o.Threads.Submit(ctx, run.User, run.ThreadID, request)
		no := refusal(err)
		if no == nil || no.Type != step.ErrBusy || s.o.Now().After(deadline) {
			return err
		}
		other, listErr := s.otherRun(ctx, run)
		if listErr != nil || other != "" {
			return err
		}
		request.Again++
		select {
		case <-ctx.Done():
			return err
		case <-time.After(catchUpPause):
		}
	}
}

// unheard refuses a run that no worker has looked at, when it wants the thread
// for itself and the store knows of a run before it. To take it would promise
// what its thread is going to refuse.
func (s *Server) unheard(ctx context.Context, run *store.Run, err error) error {
	alone := run.Multitask == "" || run.Multitask == thread.MultitaskReject
	if !alone || !errors.Is(err, threadclient.ErrNoWorker) {
		return nil
	}
	other, err := s.earlierRun(ctx, run)
	if err != nil || other == "" {
		return err
	}
	return conflict(run.ThreadID, other)
}

// refused turns the reason why a run was not taken into an answer.
func (s *Server) refused(ctx context.Context, run *store.Run, err error) error {
	if errors.Is(err, threadclient.ErrUnavailable) {
		return unavailable(err)
	}
	no := refusal(err)
	if no == nil {
		return err
	}
	switch no.Type {
	case step.ErrBusy:
		return s.busy(ctx, run)
	case step.ErrCrowded:
		return crowded(no)
	case step.ErrThreadGone:
		return threadNotFound(run.ThreadID)
	case step.ErrNoQuestion, step.ErrNewer:
		return &apiError{status: http.StatusConflict, detail: no.Reason, cause: err}
	}
	return &apiError{status: http.StatusUnprocessableEntity, detail: no.Reason, cause: err}
}

// busy is the refusal of a second run, with the id of the first (E08).
func (s *Server) busy(ctx context.Context, refused *store.Run) error {
	other, err := s.otherRun(ctx, refused)
	if err != nil {
		return err
	}
	return conflict(refused.ThreadID, other)
}

func conflict(threadID, other string) *apiError {
	no := fail(http.StatusConflict, "Thread %s already has an active run", threadID)
	if other != "" {
		no.more = map[string]any{"run_id": other}
	}
	return no
}

// underWay are the runs of a thread that have not ended: those that have started
// before those that wait, the oldest of each first.
func (s *Server) underWay(ctx context.Context, threadID string) ([]store.Run, error) {
	var all []store.Run
	for _, status := range []thread.RunStatus{thread.RunRunning, thread.RunPending} {
		runs, err := s.o.Store.ListRuns(ctx, threadID, store.RunQuery{Status: status})
		if err != nil {
			return nil, err
		}
		slices.Reverse(runs)
		all = append(all, runs...)
	}
	return all, nil
}

// otherRun is the first run of a thread that is under way beside the given one; ""
// for none.
func (s *Server) otherRun(ctx context.Context, run *store.Run) (string, error) {
	runs, err := s.underWay(ctx, run.ThreadID)
	for i := range runs {
		if runs[i].ID != run.ID {
			return runs[i].ID, nil
		}
	}
	return "", err
}

// earlierRun is the first run of a thread that is under way and came before the
// given one; "" for none.
func (s *Server) earlierRun(ctx context.Context, run *store.Run) (string, error) {
	runs, err := s.underWay(ctx, run.ThreadID)
	if len(runs) > 0 && runs[0].ID != run.ID {
		return runs[0].ID, nil
	}
	return "", err
}

// runLocation names a run in the headers of an answer, as a path below the
// mount: that is what the SDKs go back to.
func runLocation(c echo.Context, run *store.Run) string {
	path := "/threads/" + run.ThreadID + "/runs/" + run.ID
	c.Response().Header().Set("Content-Location", path)
	return path
}

func (s *Server) createRun(c echo.Context) error {
	run, _, err := s.submit(c)
	if err != nil {
		return err
	}
	runLocation(c, &run)
	return c.JSON(http.StatusOK, toRunShape(&run))
}
