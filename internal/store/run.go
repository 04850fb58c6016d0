package store

import (
	"context"
	"encoding/json"
	"fmt"

	"deerflow/internal/thread"
)

const runColumns = `thread_id, id, user_id, assistant_id, status, stop_reason, error, multitask, options, submit, kwargs, metadata, key, usage, model_calls, loop_version, first_seq, created_at, updated_at`

func scanRun(r scanner) (Run, error) {
	var run Run
	var options, submit, kwargs, metadata, usage string
	var created, updated int64
	err := r.Scan(&run.ThreadID, &run.ID, &run.User, &run.AssistantID, &run.Status, &run.StopReason, &run.Error,
		&run.Multitask, &options, &submit, &kwargs, &metadata, &run.Key, &usage, &run.ModelCalls, &run.LoopVersion, &run.FirstSeq,
		&created, &updated)
	if err != nil {
		return Run{}, err
	}
	run.Submit, run.Kwargs, run.Metadata = raw(submit), raw(kwargs), raw(metadata)
	run.CreatedAt, run.UpdatedAt = fromMicros(created), fromMicros(updated)
	if err := decode(options, &run.Options); err != nil {
		return Run{}, fmt.Errorf("options of run %s: %w", run.ID, err)
	}
	if err := decode(usage, &run.Usage); err != nil {
		return Run{}, fmt.Errorf("usage of run %s: %w", run.ID, err)
	}
	return run, nil
}

// raw is a JSON column as it is, nil for the empty text.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// insertRun makes the row, or reports that the id or the key was taken.
func (t *tx) insertRun(ctx context.Context, r *Run) (created bool, err error) {
	options, err := encode(r.Options)
	if err != nil {
		return false, err
	}
	now := micros(t.now)
	n, err := t.exec(ctx, `INSERT INTO runs (thread_id, id, user_id, assistant_id, status, multitask, options, submit, kwargs, metadata, key, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		r.ThreadID, r.ID, r.User, clean(r.AssistantID), string(r.Status), string(r.Multitask), string(options),
		clean(string(r.Submit)), clean(string(r.Kwargs)), clean(string(r.Metadata)), r.Key, now, now)
	return n > 0, err
}

func readRun(ctx context.Context, q querier, threadID, id string) (Run, error) {
	runs, err := all(ctx, q, scanRun, `SELECT `+runColumns+` FROM runs WHERE thread_id = ? AND id = ?`, threadID, id)
	if err != nil {
		return Run{}, err
	}
	if len(runs) == 0 {
		return Run{}, ErrNotFound
	}
	return runs[0], nil
}

// GetRun reads a run; an [ErrNotFound] if the thread has none of this id.
func (s *Store) GetRun(ctx context.Context, threadID, runID string) (Run, error) {
	var run Run
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		run, err = readRun(ctx, q, threadID, runID)
		return err
	})
	return run, wrap(err, "read run %q of thread %q", runID, threadID)
}

// ListRuns lists the runs of a thread, newest first; none for a thread that is
// not there.
func (s *Store) ListRuns(ctx context.Context, threadID string, q RunQuery) ([]Run, error) {
	query := `SELECT ` + runColumns + ` FROM runs WHERE thread_id = ?`
	args := []any{threadID}
	if q.Status != "" {
		query += ` AND status = ?`
		args = append(args, string(q.Status))
	}
	query += ` ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`
	args = append(args, limitOr(q.Limit, defaultLimit), max(q.Offset, 0))
	var runs []Run
	err := s.read(ctx, func(ctx context.Context, c querier) (err error) {
		runs, err = all(ctx, c, scanRun, query, args...)
		return err
	})
	return runs, wrap(err, "list runs of thread %q", threadID)
}

// PendingRuns lists the runs of all threads that no workflow has taken up,
// oldest first.
func (s *Store) PendingRuns(ctx context.Context) ([]Run, error) {
	var runs []Run
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		runs, err = all(ctx, q, scanRun, `SELECT `+runColumns+` FROM runs
			WHERE status IN ('pending', 'running') AND status = 'pending' ORDER BY created_at, id`)
		return err
	})
	return runs, wrap(err, "list pending runs")
}

// ActiveThreads lists the threads that need a workflow: busy ones, ones that
// wait with a question, and ones with a run that has started.
func (s *Store) ActiveThreads(ctx context.Context) ([]string, error) {
	var ids []string
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		ids, err = all(ctx, q, scanString, `SELECT id FROM threads WHERE status IN ('busy', 'interrupted')
			UNION SELECT thread_id FROM runs WHERE status IN ('pending', 'running') AND status = 'running' ORDER BY 1`)
		return err
	})
	return ids, wrap(err, "list active threads")
}

// HeldThreads lists the threads whose newest work was begun by a turn loop of a
// later version than known: with a run that has started, or with a question. The
// wider conditions on the status are those of the partial indexes.
func (s *Store) HeldThreads(ctx context.Context, known int) ([]string, error) {
	var ids []string
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		ids, err = all(ctx, q, scanString, `SELECT thread_id FROM runs
			WHERE status IN ('pending', 'running') AND status = 'running' AND loop_version > ?
			UNION SELECT id FROM threads WHERE status IN ('busy', 'interrupted') AND status = 'interrupted' AND (SELECT r.loop_version
				FROM runs AS r WHERE r.thread_id = threads.id AND r.started = 1 ORDER BY r.created_at DESC, r.id DESC LIMIT 1) > ? ORDER BY 1`, known, known)
		return err
	})
	return ids, wrap(err, "list threads of a newer loop")
}

// recentRuns is how many ids of ended runs a thread remembers to tell repeats
// apart. A run that was started and has not ended is none of them: a thread
// that was lost in its first turn takes it up again.
const recentRuns = 256

func readRecentRuns(ctx context.Context, q querier, threadID string) ([]string, error) {
	return all(ctx, q, scanString, `SELECT id FROM runs WHERE thread_id = ? AND status NOT IN ('pending', 'running')
		ORDER BY created_at DESC, id DESC LIMIT ?`, threadID, recentRuns)
}

// endRun writes the outcome of a run that has not ended yet, with its event.
func (t *tx) endRun(ctx context.Context, threadID string, step int, end *thread.End) error {
	usage, err := encode(end.Usage)
	if err != nil {
		return err
	}
	n, err := t.exec(ctx, `UPDATE runs SET status = ?, stop_reason = ?, error = ?, usage = ?, model_calls = ?, updated_at = ?
		WHERE thread_id = ? AND id = ? AND status IN ('pending', 'running')`,
		string(end.Status), clean(end.StopReason), clean(end.Error), string(usage), end.ModelCalls, micros(t.now),
		threadID, end.RunID)
	if err != nil || n == 0 {
		return err
	}
	_, err = t.emitValue(ctx, origin{run: end.RunID, step: step}, EventRunEnd, end)
	return err
}
