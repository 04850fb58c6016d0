package store

import (
	"context"
	"fmt"
	"slices"

	"deerflow/internal/thread"
)

// StartRun takes a run into the transcript: its plan, its row, which is made
// when the run came from inside, and its messages at the positions from Pos on.
// It is idempotent by run: a repeat writes nothing and gives the same rows. A
// run that ended before it started, or that was withdrawn, is an [ErrRunGone]; a
// caller who knows another checkpoint than the newest gets an [ErrOvertaken].
func (s *Store) StartRun(ctx context.Context, in StartRun) ([]Row, error) {
	var rows []Row
	err := s.write(ctx, in.Ref.Thread, func(ctx context.Context, t *tx) (err error) {
		if err := t.lock(ctx, in.Ref.Thread); err != nil {
			return err
		}
		if in.Parent != nil {
			if err := t.follows(ctx, in.Ref.Thread, *in.Parent); err != nil {
				return err
			}
		}
		started, err := t.openRun(ctx, &in)
		if err != nil {
			return err
		}
		if started {
			rows, err = startedRows(ctx, t, in.Ref.Thread, in.Ref.Run)
			return err
		}
		rows, err = t.startRun(ctx, &in)
		return err
	})
	if err != nil {
		return nil, wrap(err, "start run %q of thread %q", in.Ref.Run, in.Ref.Thread)
	}
	return rows, nil
}

// openRun finds the row of the run, or makes it, and reports whether the run has
// started already.
func (t *tx) openRun(ctx context.Context, in *StartRun) (started bool, err error) {
	var status thread.RunStatus
	err = get(ctx, t, `SELECT status, started FROM runs WHERE thread_id = ? AND id = ?`,
		[]any{in.Ref.Thread, in.Ref.Run}, &status, &started)
	if isNoRow(err) && in.Message == nil {
		return false, fmt.Errorf("there is no such run: %w", ErrRunGone)
	}
	if isNoRow(err) {
		run := Run{ThreadID: in.Ref.Thread, ID: in.Ref.Run, User: in.Ref.User, AssistantID: in.AssistantID, Status: thread.RunPending}
		_, err = t.insertRun(ctx, &run)
		return false, err
	}
	if err == nil && !started && status.Terminal() {
		return false, fmt.Errorf("the run ended before it started, it is %s: %w", status, ErrRunGone)
	}
	return started, err
}

func (t *tx) startRun(ctx context.Context, in *StartRun) ([]Row, error) {
	if in.PlanHash != "" {
		if err := t.putPlan(ctx, in.PlanHash, in.Plan); err != nil {
			return nil, err
		}
	}
	firstSeq := t.last
	from := origin{run: in.Ref.Run, step: in.Ref.Step}
	if _, err := t.emitValue(ctx, from, EventRunStart, RunStarted{RunID: in.Ref.Run, AssistantID: in.AssistantID}); err != nil {
		return nil, err
	}
	if in.Baseline != nil {
		if err := t.putBaseline(ctx, in.Ref.Run, in.Baseline); err != nil {
			return nil, err
		}
	}
	rows, err := t.placeMessages(ctx, in)
	if err != nil {
		return nil, err
	}
	_, err = t.exec(ctx, `UPDATE runs SET status = ?, started = 1, loop_version = ?, first_seq = ?, first_pos = ?, row_count = ?, updated_at = ?,
		assistant_id = CASE WHEN assistant_id = '' THEN ? ELSE assistant_id END WHERE thread_id = ? AND id = ?`,
		string(thread.RunRunning), in.LoopVersion, firstSeq, in.Pos, len(rows), micros(t.now), clean(in.AssistantID), in.Ref.Thread, in.Ref.Run)
	if err != nil {
		return nil, err
	}
	return rows, t.threadBusy(ctx, in)
}

// placeMessages gives the messages of the run their positions, each with its
// event: the stored ones in the order of the submission, then the one that came
// along.
func (t *tx) placeMessages(ctx context.Context, in *StartRun) ([]Row, error) {
	rows, err := waitingRows(ctx, t, in.Ref.Thread, in.Ref.Run)
	if err != nil {
		return nil, err
	}
	stored := len(rows)
	if in.Message != nil {
		rev, err := nextRev(ctx, t, in.Ref.Thread, in.Message.ID)
		if err != nil {
			return nil, err
		}
		message := *in.Message
		message.AdditionalKwargs = cloneMap(message.AdditionalKwargs)
		rows = append(rows, Row{ID: message.ID, RunID: in.Ref.Run, Rev: rev, Message: message})
	}
	from := origin{run: in.Ref.Run, step: in.Ref.Step}
	for i := range rows {
		row := &rows[i]
		row.Pos, row.Step = in.Pos+int64(i), in.Ref.Step
		if row.Message.Role == thread.RoleHuman {
			row.Message.SetKwarg(thread.KeyRunID, in.Ref.Run)
			row.Message.SetKwarg(thread.KeyTimestamp, stamp(in.At))
			if row.ID == in.ContextOf {
				row.Message.SetContext(in.Context)
			}
		}
		body, err := encode(row.Message)
		if err != nil {
			return nil, err
		}
		if i >= stored {
			row.Message = thread.Message{}
			if err := decode(string(body), &row.Message); err != nil { // as a repeat will read it
				return nil, err
			}
			err = t.insertRow(ctx, row, string(body), from)
		} else {
			err = t.placeRow(ctx, row, string(body), from)
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// placeRow moves a pending message into the transcript.
func (t *tx) placeRow(ctx context.Context, row *Row, body string, from origin) error {
	waited := row.Rev
	switch next, err := nextRev(ctx, t, t.thread, row.ID); {
	case err != nil:
		return err
	case next > waited+1:
		row.Rev = next // the id was written while the message waited: it moves here
	}
	seq, err := t.emitValue(ctx, from, EventMessage, MessageRef{ID: row.ID, Rev: row.Rev, Role: row.Message.Role})
	if err != nil {
		return err
	}
	row.Seq = seq
	_, err = t.exec(ctx, `UPDATE messages SET rev = ?, pos = ?, seq = ?, step = ?, body = ? WHERE thread_id = ? AND id = ? AND rev = ?`,
		row.Rev, row.Pos, row.Seq, row.Step, body, t.thread, row.ID, waited)
	return err
}

// threadBusy shows the thread as working, without the questions that the run
// answers.
func (t *tx) threadBusy(ctx context.Context, in *StartRun) error {
	var text string
	if err := get(ctx, t, `SELECT interrupts FROM threads WHERE id = ?`, []any{in.Ref.Thread}, &text); err != nil {
		return err
	}
	var open []thread.Interrupt
	if err := decode(text, &open); err != nil {
		return fmt.Errorf("interrupts: %w", err)
	}
	open = slices.DeleteFunc(open, func(i thread.Interrupt) bool { return slices.Contains(in.Answers, i.ID) })
	text, err := encodeList(open)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `UPDATE threads SET status = ?, error = '', interrupts = ?, updated_at = ? WHERE id = ?`,
		string(thread.StatusBusy), text, micros(t.now), in.Ref.Thread)
	return err
}

// startedRows are the rows that a run brought when it started, as they were
// then.
func startedRows(ctx context.Context, q querier, threadID, runID string) ([]Row, error) {
	var pos, count int64
	err := get(ctx, q, `SELECT first_pos, row_count FROM runs WHERE thread_id = ? AND id = ?`, []any{threadID, runID}, &pos, &count)
	if err != nil {
		return nil, err
	}
	rows, err := all(ctx, q, scanRow, `SELECT `+rowColumns+` FROM messages AS m
		WHERE m.thread_id = ? AND m.pos >= ? AND m.pos < ? AND m.run_id = ? ORDER BY m.pos, m.seq`, threadID, pos, pos+count, runID)
	if err != nil {
		return nil, err
	}
	return slices.CompactFunc(rows, func(a, b Row) bool { return a.Pos == b.Pos }), nil
}

// RunInput reads the messages that a run brings, in order: those that wait with
// it or, if it has started, those that it brought then. A run that nobody has
// submitted brings none.
func (s *Store) RunInput(ctx context.Context, threadID, runID string) ([]Row, error) {
	var rows []Row
	err := s.snapshot(ctx, func(ctx context.Context, q querier) error {
		var started bool
		err := get(ctx, q, `SELECT started FROM runs WHERE thread_id = ? AND id = ?`, []any{threadID, runID}, &started)
		switch {
		case isNoRow(err):
			return nil
		case err != nil:
			return err
		case started:
			rows, err = startedRows(ctx, q, threadID, runID)
			return err
		}
		rows, err = waitingRows(ctx, q, threadID, runID)
		return err
	})
	return rows, wrap(err, "read the input of run %q of thread %q", runID, threadID)
}

// waitingRows are the rows of a run that has not started, in the order of the
// submission.
func waitingRows(ctx context.Context, q querier, threadID, runID string) ([]Row, error) {
	return all(ctx, q, scanRow, `SELECT `+rowColumns+` FROM messages AS m
		WHERE m.thread_id = ? AND m.run_id = ? AND m.pos IS NULL ORDER BY m.ord`, threadID, runID)
}

// encodeList writes a JSON array, and nothing for none.
func encodeList[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	data, err := encode(list)
	return string(data), err
}

func cloneMap(m map[string]any) map[string]any {
	clone := make(map[string]any, len(m))
	for k, v := range m {
		clone[k] = v
	}
	return clone
}
