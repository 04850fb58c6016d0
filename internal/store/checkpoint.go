package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"deerflow/internal/thread"
)

// selectCheckpoint reads checkpoints with the state that each has or refers to.
const selectCheckpoint = `SELECT c.thread_id, c.seq, c.id, c.run_id, c.step, c.parent, c.at, c.data, c.segments, c.compacted, c.next_pos, s.state, c.status, c.interrupts, c.next
	FROM checkpoints AS c JOIN checkpoints AS s ON s.thread_id = c.thread_id AND s.seq = c.state_seq WHERE c.thread_id = ?`

func scanCheckpoint(r scanner) (Checkpoint, error) {
	var c Checkpoint
	var at int64
	var data, segments, compacted, state, interrupts, next string
	err := r.Scan(&c.ThreadID, &c.Seq, &c.ID, &c.RunID, &c.Step, &c.Parent, &at, &data, &segments, &compacted, &c.NextPos,
		&state, &c.Status, &interrupts, &next)
	if err != nil {
		return Checkpoint{}, err
	}
	c.At, c.Data = fromMicros(at), json.RawMessage(data)
	for _, part := range []struct {
		text string
		into any
	}{{segments, &c.Cursor.Segments}, {compacted, &c.Cursor.Compacted}, {state, &c.State}, {interrupts, &c.Interrupts}, {next, &c.Next}} {
		if err := decode(part.text, part.into); err != nil {
			return Checkpoint{}, fmt.Errorf("checkpoint %s: %w", c.ID, err)
		}
	}
	return c, nil
}

// checkpointAsOf is the newest checkpoint that had its event by seq asOf; nil if
// there is none.
func checkpointAsOf(ctx context.Context, q querier, threadID string, asOf int64) (*Checkpoint, error) {
	list, err := all(ctx, q, scanCheckpoint, selectCheckpoint+` AND c.seq <= ? ORDER BY c.seq DESC LIMIT 1`, threadID, asOf)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

func checkpointByID(ctx context.Context, q querier, threadID, id string) (Checkpoint, error) {
	list, err := all(ctx, q, scanCheckpoint, selectCheckpoint+` AND c.id = ?`, threadID, id)
	if err != nil {
		return Checkpoint{}, err
	}
	if len(list) == 0 {
		return Checkpoint{}, ErrNotFound
	}
	return list[0], nil
}

// GetCheckpoint reads a checkpoint; an [ErrNotFound] if the thread has none of
// this id.
func (s *Store) GetCheckpoint(ctx context.Context, threadID, id string) (Checkpoint, error) {
	var c Checkpoint
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		c, err = checkpointByID(ctx, q, threadID, id)
		return err
	})
	return c, wrap(err, "read checkpoint %q of thread %q", id, threadID)
}

// Checkpoints lists the checkpoints of a thread, newest first. An unknown Before
// is an [ErrNotFound].
func (s *Store) Checkpoints(ctx context.Context, threadID string, q CheckpointQuery) ([]Checkpoint, error) {
	const defaultCheckpoints = 10
	var list []Checkpoint
	err := s.snapshot(ctx, func(ctx context.Context, c querier) error {
		before := int64(math.MaxInt64)
		if q.Before != "" {
			newer, err := checkpointByID(ctx, c, threadID, q.Before)
			if err != nil {
				return fmt.Errorf("checkpoint %q: %w", q.Before, err)
			}
			before = newer.Seq
		}
		var err error
		list, err = all(ctx, c, scanCheckpoint, selectCheckpoint+` AND c.seq < ? ORDER BY c.seq DESC LIMIT ?`,
			threadID, before, limitOr(q.Limit, defaultCheckpoints))
		return err
	})
	return list, wrap(err, "list checkpoints of thread %q", threadID)
}

// LoadHead reads what a thread starts or continues with: its newest checkpoint,
// the rows in view of cursor, or those that a model reads by the checkpoint's
// without one, those that have a digest without their body, and the runs it has
// seen. A thread that is not there is an [ErrThreadGone].
func (s *Store) LoadHead(ctx context.Context, threadID string, cursor *thread.Cursor) (Head, error) {
	var head Head
	err := s.snapshot(ctx, func(ctx context.Context, q querier) (err error) {
		if _, err := ownerOf(ctx, q, threadID); err != nil {
			return err
		}
		if head.Checkpoint, err = checkpointAsOf(ctx, q, threadID, math.MaxInt64); err != nil {
			return err
		}
		if cursor == nil && head.Checkpoint != nil {
			view := head.Checkpoint.Cursor.Model()
			cursor = &view
		}
		if cursor != nil {
			if head.Rows, err = readCursor(ctx, q, briefColumns, threadID, *cursor, math.MaxInt64); err != nil {
				return err
			}
		}
		head.RecentRuns, err = readRecentRuns(ctx, q, threadID)
		return err
	})
	if err != nil {
		return Head{}, wrap(err, "load thread %q", threadID)
	}
	return head, nil
}
