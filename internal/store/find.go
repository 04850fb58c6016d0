package store

import (
	"context"
	"fmt"

	"deerflow/internal/thread"
)

// FindRun reads a run of a user's by its id alone; an [ErrNotFound] if they have
// none. Where several threads have a run of this id, it is the newest.
func (s *Store) FindRun(ctx context.Context, user, runID string) (Run, error) {
	var runs []Run
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		runs, err = all(ctx, q, scanRun, `SELECT `+runColumns+` FROM runs WHERE id = ? AND user_id = ?
			ORDER BY created_at DESC LIMIT 1`, runID, user)
		return err
	})
	if err == nil && len(runs) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Run{}, wrap(err, "find run %q", runID)
	}
	return runs[0], nil
}

// LiveRuns lists the runs of a user's threads that have not ended, oldest first:
// those that wait, those that have started, or both when status is empty.
func (s *Store) LiveRuns(ctx context.Context, user string, status thread.RunStatus) ([]Run, error) {
	if status.Terminal() && status != "" {
		return nil, wrap(fmt.Errorf("runs that are %s have ended: %w", status, ErrInvalid), "list live runs")
	}
	query := `SELECT ` + runColumns + ` FROM runs WHERE status IN ('pending', 'running') AND user_id = ?`
	args := []any{user}
	if status != "" {
		query += ` AND status = ?`
		args = append(args, string(status))
	}
	var runs []Run
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		runs, err = all(ctx, q, scanRun, query+` ORDER BY created_at, id`, args...)
		return err
	})
	return runs, wrap(err, "list live runs")
}

// DeleteRun removes the row of a run that has ended, with what is told of its
// citations and changes. What it wrote stays in the transcript, what it fetched
// stays a source. One that has not ended is an [ErrActive].
func (s *Store) DeleteRun(ctx context.Context, threadID, runID string) error {
	err := s.write(ctx, threadID, func(ctx context.Context, t *tx) error {
		if err := t.lock(ctx, threadID); err != nil {
			return ErrNotFound
		}
		run, err := readRun(ctx, t, threadID, runID)
		if err != nil {
			return err
		}
		if !run.Status.Terminal() {
			return fmt.Errorf("it is %s: %w", run.Status, ErrActive)
		}
		for _, query := range []string{
			`DELETE FROM citations WHERE thread_id = ? AND run_id = ?`,
			`DELETE FROM file_changes WHERE thread_id = ? AND run_id = ?`,
			`DELETE FROM runs WHERE thread_id = ? AND id = ?`,
		} {
			if _, err := t.exec(ctx, query, threadID, runID); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "delete run %q of thread %q", runID, threadID)
}

// threadColumnsCopied are the columns of a thread that its copy has too.
const threadColumnsCopied = `user_id, status, metadata, state, state_seq, interrupts, error, last_seq, checkpoint_id, state_updated_at`

// These are all columns of their tables but the thread's id.
const (
	messageColumns      = `id, rev, pos, seq, ord, run_id, step, body, digest, created_at`
	sourceColumnsCopied = `ord, url_key, final_key, ` + sourceColumns
	checkpointColumns   = `seq, id, run_id, step, parent, at, data, segments, compacted, next_pos, state, state_seq, status, interrupts, next`
)

// CopyThread makes a thread with the transcript, the checkpoints and the
// metadata of another one, and its sources, under a new id. Its runs and its log
// are not copied: nobody follows a run of the copy, and its log is whole from its
// end on. A thread with a run that has not ended is an [ErrActive].
func (s *Store) CopyThread(ctx context.Context, from, to string) (Thread, error) {
	var made Thread
	err := checkKey("thread id", to)
	if err == nil {
		err = s.write(ctx, from, func(ctx context.Context, t *tx) error {
			if err := t.lock(ctx, from); err != nil {
				return ErrNotFound
			}
			if err := t.copyThread(ctx, from, to); err != nil {
				return err
			}
			made, err = readThread(ctx, t, to)
			return err
		})
	}
	if err != nil {
		return Thread{}, wrap(err, "copy thread %q", from)
	}
	return made, nil
}

func (t *tx) copyThread(ctx context.Context, from, to string) error {
	var live int
	err := get(ctx, t, `SELECT COUNT(*) FROM runs WHERE thread_id = ? AND status IN ('pending', 'running')`, []any{from}, &live)
	if err != nil {
		return err
	}
	if live > 0 {
		return fmt.Errorf("%d runs: %w", live, ErrActive)
	}
	now := micros(t.now)
	_, err = t.exec(ctx, `INSERT INTO threads (id, pruned_seq, created_at, updated_at, `+threadColumnsCopied+`)
		SELECT ?, last_seq, ?, ?, `+threadColumnsCopied+` FROM threads WHERE id = ?`, to, now, now, from)
	if err != nil {
		return err
	}
	for _, part := range []struct{ table, columns string }{
		{"messages", messageColumns},
		{"checkpoints", checkpointColumns},
		{"sources", sourceColumnsCopied},
		{"text_refs", "kind, hash"},
	} {
		_, err := t.exec(ctx, `INSERT INTO `+part.table+` (thread_id, `+part.columns+`) SELECT ?, `+
			part.columns+` FROM `+part.table+` WHERE thread_id = ?`, to, from)
		if err != nil {
			return fmt.Errorf("copy %s: %w", part.table, err)
		}
	}
	return nil
}
