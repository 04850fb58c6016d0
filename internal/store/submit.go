package store

import (
	"context"
	"errors"
	"fmt"

	"deerflow/internal/thread"
)

// SubmitRun stores a submission before the workflow hears of it: the run,
// pending, and its messages, which whoever reads from now on sees at the end of
// the transcript. A submission whose key or run id the thread has already
// changes nothing and gives the stored run, with existing set. A thread of
// another user is an [ErrNotFound].
func (s *Store) SubmitRun(ctx context.Context, n NewRun) (run Run, existing bool, err error) {
	bodies, err := n.encodeMessages()
	if err != nil {
		return Run{}, false, wrap(err, "store run %q of thread %q", n.Run.ID, n.Run.ThreadID)
	}
	err = s.write(ctx, n.Run.ThreadID, func(ctx context.Context, t *tx) error {
		run = n.Run
		if err := t.openThread(ctx, &run, n.CreateThread); err != nil {
			return err
		}
		stored, err := findRun(ctx, t, run.ThreadID, run.ID, run.Key)
		if err == nil {
			run, existing = stored, true
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		run.Status = thread.RunPending
		if _, err := t.insertRun(ctx, &run); err != nil {
			return err
		}
		for i := range n.Messages {
			if err := t.insertPending(ctx, &run, i, n.Messages[i].ID, bodies[i]); err != nil {
				return err
			}
		}
		if err := t.touch(ctx, run.ThreadID); err != nil {
			return err
		}
		run.CreatedAt, run.UpdatedAt = t.now, t.now
		return nil
	})
	if err != nil {
		return Run{}, false, wrap(err, "store run %q of thread %q", n.Run.ID, n.Run.ThreadID)
	}
	return run, existing, nil
}

func (n *NewRun) encodeMessages() ([]string, error) {
	if err := errors.Join(checkKey("thread id", n.Run.ThreadID), checkKey("run id", n.Run.ID)); err != nil {
		return nil, err
	}
	if n.Run.Key != "" {
		if err := checkKey("idempotency key", n.Run.Key); err != nil {
			return nil, err
		}
	}
	bodies := make([]string, len(n.Messages))
	for i := range n.Messages {
		if err := checkKey("message id", n.Messages[i].ID); err != nil {
			return nil, err
		}
		data, err := encode(n.Messages[i])
		if err != nil {
			return nil, err
		}
		bodies[i] = string(data)
	}
	return bodies, nil
}

// openThread locks the thread of a submission, making it when that is wanted,
// and checks that it is the submitter's.
func (t *tx) openThread(ctx context.Context, run *Run, create bool) error {
	if create {
		if _, err := t.insertThread(ctx, run.ThreadID, run.User, "{}", 0); err != nil {
			return err
		}
	}
	if err := t.lock(ctx, run.ThreadID); err != nil {
		return err
	}
	owner, err := ownerOf(ctx, t, run.ThreadID)
	if err != nil {
		return err
	}
	if run.User == "" {
		run.User = owner
	}
	if run.User != owner {
		return fmt.Errorf("thread %q: %w", run.ThreadID, ErrNotFound)
	}
	return nil
}

// findRun looks for a run by its id, then by its key.
func findRun(ctx context.Context, q querier, threadID, id, key string) (Run, error) {
	run, err := readRun(ctx, q, threadID, id)
	if !errors.Is(err, ErrNotFound) || key == "" {
		return run, err
	}
	runs, err := all(ctx, q, scanRun, `SELECT `+runColumns+` FROM runs WHERE thread_id = ? AND key = ? AND key <> ''`, threadID, key)
	if err != nil {
		return Run{}, err
	}
	if len(runs) == 0 {
		return Run{}, ErrNotFound
	}
	return runs[0], nil
}

// insertPending stores a message that has no place in the transcript yet. An id
// that the thread has already gets a new revision, so the message moves.
func (t *tx) insertPending(ctx context.Context, run *Run, ord int, id, body string) error {
	rev, err := nextRev(ctx, t, run.ThreadID, id)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `INSERT INTO messages (thread_id, id, rev, ord, run_id, body, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		run.ThreadID, id, rev, ord, run.ID, body, micros(t.now))
	return err
}

// nextRev is the revision that the next row of a message gets.
func nextRev(ctx context.Context, q querier, threadID, id string) (int, error) {
	var rev int
	err := get(ctx, q, `SELECT rev FROM messages WHERE thread_id = ? AND id = ? ORDER BY rev DESC LIMIT 1`, []any{threadID, id}, &rev)
	if isNoRow(err) {
		return 0, nil
	}
	return rev + 1, err
}

// EndWaiting ends a run that was cancelled before it started. One that has ended
// already is left as it is; one that has started is an [ErrNotPending].
func (s *Store) EndWaiting(ctx context.Context, threadID string, end thread.End) error {
	err := s.write(ctx, threadID, func(ctx context.Context, t *tx) error {
		if err := t.lock(ctx, threadID); err != nil {
			return err
		}
		run, err := readRun(ctx, t, threadID, end.RunID)
		switch {
		case err != nil:
			return err
		case run.Status.Terminal():
			return nil
		case run.Status != thread.RunPending:
			return fmt.Errorf("it is %s: %w", run.Status, ErrNotPending)
		}
		return t.endRun(ctx, threadID, 0, &end)
	})
	return wrap(err, "end run %q of thread %q", end.RunID, threadID)
}

// WithdrawRun removes a run that was refused, with its messages. A run that is
// not there is no error; one that was taken up is an [ErrNotPending], and stays.
func (s *Store) WithdrawRun(ctx context.Context, threadID, runID string) error {
	err := s.write(ctx, threadID, func(ctx context.Context, t *tx) error {
		if err := t.lock(ctx, threadID); errors.Is(err, ErrThreadGone) {
			return nil
		} else if err != nil {
			return err
		}
		run, err := readRun(ctx, t, threadID, runID)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if run.Status != thread.RunPending {
			return fmt.Errorf("it is %s: %w", run.Status, ErrNotPending)
		}
		if _, err := t.exec(ctx, `DELETE FROM messages WHERE thread_id = ? AND run_id = ? AND pos IS NULL`, threadID, runID); err != nil {
			return err
		}
		_, err = t.exec(ctx, `DELETE FROM runs WHERE thread_id = ? AND id = ?`, threadID, runID)
		return err
	})
	return wrap(err, "withdraw run %q of thread %q", runID, threadID)
}
