package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"deerflow/internal/failpoint"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// Commit stores what a turn changed in one transaction: messages and seals,
// revisions, the checkpoint, the row of the thread and the outcome of runs, with
// their events in this order. It is idempotent by (thread, run, step): a repeat
// writes nothing and gives the same result. A commit that does not follow the
// thread's newest checkpoint, or whose step has another one, comes from a
// workflow that has fallen behind: it is an [ErrOvertaken].
func (s *Store) Commit(ctx context.Context, in step.CommitInput, digestOf DigestFunc) (step.CommitResult, error) {
	var rows []Row
	c, err := newCommit(&in)
	if err == nil {
		err = s.write(ctx, in.Thread, func(ctx context.Context, t *tx) (err error) {
			if err := t.lock(ctx, in.Thread); err != nil {
				return err
			}
			seq, err := c.once(ctx, t)
			if err != nil {
				return err
			}
			rows, err = c.rows(ctx, t, seq)
			return err
		})
	}
	if err != nil {
		return step.CommitResult{}, wrap(err, "commit step %d of run %q, thread %q", in.Step, in.Run, in.Thread)
	}
	failpoint.Here(failpoint.CommitStored, in.Thread)
	var result step.CommitResult
	for i := range rows {
		result.Messages = append(result.Messages, digestOf(&rows[i].Message, rows[i].Pos))
	}
	return result, nil
}

// commit is a CommitInput with what could be encoded ahead of the transaction.
type commit struct {
	in         *step.CommitInput
	state      string
	segments   string
	compacted  string
	interrupts string
	next       string
}

func newCommit(in *step.CommitInput) (*commit, error) {
	if err := checkKey("checkpoint id", in.CheckpointID); err != nil {
		return nil, err
	}
	for i := range in.Messages {
		if err := checkKey("message id", in.Messages[i].Message.ID); err != nil {
			return nil, err
		}
	}
	state, err := encode(in.State)
	if err != nil {
		return nil, err
	}
	c := &commit{in: in, state: string(state)}
	if c.segments, err = encodeList(in.Cursor.Segments); err != nil {
		return nil, err
	}
	if in.Cursor.Compacted != nil {
		compacted, err := encode(in.Cursor.Compacted)
		if err != nil {
			return nil, err
		}
		c.compacted = string(compacted)
	}
	if c.interrupts, err = encodeList(in.Interrupts); err != nil {
		return nil, err
	}
	c.next, err = encodeList(in.Next)
	return c, err
}

func (c *commit) origin() origin { return origin{run: c.in.Run, step: c.in.Step} }

// once does the commit unless it was done before, and gives the sequence number
// of its checkpoint.
func (c *commit) once(ctx context.Context, t *tx) (seq int64, err error) {
	var id string
	err = get(ctx, t, `SELECT seq, id FROM checkpoints WHERE thread_id = ? AND run_id = ? AND step = ?`,
		[]any{c.in.Thread, c.in.Run, c.in.Step}, &seq, &id)
	switch {
	case isNoRow(err):
		if c.in.Parent != "" {
			err = t.follows(ctx, c.in.Thread, c.in.Parent)
		} else {
			err = nil
		}
		if err == nil {
			seq, err = c.write(ctx, t)
		}
	case err == nil && id != c.in.CheckpointID:
		err = fmt.Errorf("the step has checkpoint %s: %w", id, ErrOvertaken)
	}
	return seq, err
}

// follows fails unless the thread's newest checkpoint is the given one.
func (t *tx) follows(ctx context.Context, threadID, checkpointID string) error {
	var newest string
	err := get(ctx, t, `SELECT checkpoint_id FROM threads WHERE id = ?`, []any{threadID}, &newest)
	if err == nil && newest != checkpointID {
		err = fmt.Errorf("the newest checkpoint is %q, not %q: %w", newest, checkpointID, ErrOvertaken)
	}
	return err
}

// write does the commit and gives the sequence number of its checkpoint.
func (c *commit) write(ctx context.Context, t *tx) (int64, error) {
	for _, m := range c.inOrder() {
		var err error
		if m.seal != nil {
			err = c.seal(ctx, t, m.seal)
		} else {
			err = c.message(ctx, t, c.stamped(m.made))
		}
		if err != nil {
			return 0, err
		}
	}
	for i := range c.in.Revisions {
		if err := c.revise(ctx, t, &c.in.Revisions[i]); err != nil {
			return 0, err
		}
	}
	seq, err := c.checkpoint(ctx, t)
	if err != nil {
		return 0, err
	}
	for i := range c.in.Ends {
		if err := t.endRun(ctx, c.in.Thread, c.in.Step, &c.in.Ends[i]); err != nil {
			return 0, fmt.Errorf("end run %q: %w", c.in.Ends[i].RunID, err)
		}
	}
	return seq, nil
}

// stamped is a message as it is stored: one that a client put into the state gets
// its time, as those get that a run brings. The framework's own have none.
func (c *commit) stamped(made *step.NewMessage) *step.NewMessage {
	if !thread.IsUpdate(c.in.Run) || made.Message.Role != thread.RoleHuman {
		return made
	}
	m := *made
	m.Message.AdditionalKwargs = cloneMap(m.Message.AdditionalKwargs)
	m.Message.SetKwarg(thread.KeyTimestamp, stamp(c.in.At))
	return &m
}

// entry is a message that the workflow made, or one that it seals.
type entry struct {
	pos  int64
	made *step.NewMessage
	seal *step.Seal
}

func (e *entry) id() string {
	if e.seal != nil {
		return e.seal.MessageID
	}
	return e.made.Message.ID
}

// inOrder has messages and seals by position.
func (c *commit) inOrder() []entry {
	entries := make([]entry, 0, len(c.in.Messages)+len(c.in.Seals))
	for i := range c.in.Messages {
		entries = append(entries, entry{pos: c.in.Messages[i].Pos, made: &c.in.Messages[i]})
	}
	for i := range c.in.Seals {
		entries = append(entries, entry{pos: c.in.Seals[i].Pos, seal: &c.in.Seals[i]})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.pos, b.pos) })
	return entries
}

// rows are the messages that the commit made or sealed, by position, as they
// were when its checkpoint was written.
func (c *commit) rows(ctx context.Context, q querier, seq int64) ([]Row, error) {
	var rows []Row
	for _, e := range c.inOrder() {
		row, err := newestRow(ctx, q, c.in.Thread, e.id(), seq)
		if err != nil {
			return nil, err
		}
		if row != nil {
			rows = append(rows, *row)
		}
	}
	return rows, nil
}

// checkpoint writes the checkpoint and the thread's row. A state that is the
// same as before is not stored again.
func (c *commit) checkpoint(ctx context.Context, t *tx) (int64, error) {
	in := c.in
	var stored string
	var stateSeq int64
	err := get(ctx, t, `SELECT state, state_seq FROM threads WHERE id = ?`, []any{in.Thread}, &stored, &stateSeq)
	if err != nil {
		return 0, err
	}
	seq, err := t.emitValue(ctx, c.origin(), EventCheckpoint, CheckpointRef{
		ID: in.CheckpointID, Status: in.Status, Update: in.Update, Interrupts: in.Interrupts,
	})
	if err != nil {
		return 0, err
	}
	state := ""
	if stateSeq == 0 || stored != c.state {
		state, stateSeq = c.state, seq
	}
	_, err = t.exec(ctx, `INSERT INTO checkpoints (thread_id, seq, id, run_id, step, parent, at, data, segments, compacted, next_pos, state, state_seq, status, interrupts, next)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		in.Thread, seq, in.CheckpointID, in.Run, in.Step, in.Parent, micros(in.At), clean(string(in.Checkpoint)), c.segments, c.compacted,
		in.NextPos, state, stateSeq, string(in.Status), c.interrupts, c.next)
	if err != nil {
		return 0, fmt.Errorf("store checkpoint %s: %w", in.CheckpointID, err)
	}
	_, err = t.exec(ctx, `UPDATE threads SET status = ?, error = ?, state = ?, state_seq = ?, interrupts = ?, checkpoint_id = ?, updated_at = ?, state_updated_at = ? WHERE id = ?`,
		string(in.Status), c.failure(), c.state, stateSeq, c.interrupts, in.CheckpointID, micros(t.now), micros(in.At), in.Thread)
	return seq, err
}

// failure is the error that the thread shows.
func (c *commit) failure() string {
	if c.in.Status != thread.StatusError {
		return ""
	}
	var errs []string
	for _, end := range c.in.Ends {
		if end.Error != "" {
			errs = append(errs, end.Error)
		}
	}
	return clean(strings.Join(errs, "; "))
}

// message stores a message that the workflow made. An id that is taken gets a
// new revision, unless nothing changes; whoever may still write it is fenced.
func (c *commit) message(ctx context.Context, t *tx, m *step.NewMessage) error {
	body, err := encode(m.Message)
	if err != nil {
		return err
	}
	before, err := newestRow(ctx, t, c.in.Thread, m.Message.ID, t.last)
	if err != nil {
		return err
	}
	if before != nil && before.Pos == m.Pos {
		if same, err := encode(before.Message); err != nil || string(same) == string(body) {
			return err
		}
	}
	rev, err := nextRev(ctx, t, c.in.Thread, m.Message.ID)
	if err != nil {
		return err
	}
	row := Row{Pos: m.Pos, ID: m.Message.ID, RunID: c.in.Run, Step: c.in.Step, Rev: rev, Message: m.Message}
	return c.place(ctx, t, &row, body)
}

// revise stores a changed message as a new revision. A message without a row
// has nothing to change: a seal may have found no text.
func (c *commit) revise(ctx context.Context, t *tx, r *thread.Revision) error {
	row, err := newestRow(ctx, t, c.in.Thread, r.MessageID, t.last)
	if err != nil || row == nil {
		return err
	}
	before, err := encode(row.Message)
	if err != nil {
		return err
	}
	row.Message = r.Apply(row.Message)
	after, err := encode(row.Message)
	if err != nil || string(before) == string(after) {
		return err
	}
	if row.Rev, err = nextRev(ctx, t, c.in.Thread, row.ID); err != nil {
		return err
	}
	return t.insertRow(ctx, row, string(after), c.origin())
}

// place inserts a row and closes the message for writers.
func (c *commit) place(ctx context.Context, t *tx, row *Row, body json.RawMessage) error {
	if err := t.insertRow(ctx, row, string(body), c.origin()); err != nil {
		return fmt.Errorf("store message %q: %w", row.ID, err)
	}
	return t.closeClaim(ctx, row.ID)
}
