package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// NoteStop remembers in the submission of a run that it is to be stopped: a
// thread that is started again from here, its workflow lost, then knows. A
// rollback is not taken back by a plain stop. A run that has ended, or is not
// there, is left alone.
func (s *Store) NoteStop(ctx context.Context, threadID, runID string, action thread.CancelAction) error {
	err := s.write(ctx, threadID, func(ctx context.Context, t *tx) error {
		if err := t.lock(ctx, threadID); err != nil {
			return err
		}
		run, err := readRun(ctx, t, threadID, runID)
		if errors.Is(err, ErrNotFound) || err == nil && run.Status.Terminal() {
			return nil
		}
		if err != nil {
			return err
		}
		// What a run that the workflow made itself is taken up with.
		submit := step.SubmitRun{RunID: runID, Options: run.Options, Multitask: thread.MultitaskEnqueue}
		if len(run.Submit) > 0 {
			if err := json.Unmarshal(run.Submit, &submit); err != nil {
				return fmt.Errorf("read the submission: %w", err)
			}
		}
		if submit.Stopped == action || submit.Stopped == thread.CancelRollback {
			return nil
		}
		submit.Stopped = action
		body, err := encode(submit)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, `UPDATE runs SET submit = ? WHERE thread_id = ? AND id = ?`, string(body), threadID, runID)
		return err
	})
	return wrap(err, "note the stop of run %q of thread %q", runID, threadID)
}

// OpenMessages are the ids of messages of a run that a step has claimed and
// nobody has completed, oldest first.
func (s *Store) OpenMessages(ctx context.Context, threadID, runID string) ([]string, error) {
	var ids []string
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		ids, err = all(ctx, q, scanString, `SELECT message_id FROM claims WHERE thread_id = ? AND run_id = ? AND closed = 0 ORDER BY first_seq, message_id`,
			threadID, runID)
		return err
	})
	return ids, wrap(err, "list the open messages of run %q of thread %q", runID, threadID)
}
