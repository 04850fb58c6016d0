package store

import (
	"context"
	"math"
)

// View reads what a client sees of a thread, all of one moment: the transcript
// in view of the checkpoint, what was added since, and, as of now, the messages
// of runs that are still pending. An [ErrNotFound] if there is no such thread.
func (s *Store) View(ctx context.Context, threadID string, o ViewOptions) (View, error) {
	var v View
	err := s.snapshot(ctx, func(ctx context.Context, q querier) (err error) {
		if v.Thread, err = readThread(ctx, q, threadID); err != nil {
			return err
		}
		asOf := o.AtSeq
		v.Seq = o.AtSeq
		if o.AtSeq == 0 {
			asOf = math.MaxInt64
			if err := get(ctx, q, `SELECT last_seq FROM threads WHERE id = ?`, []any{threadID}, &v.Seq); err != nil {
				return err
			}
		}
		if v.Checkpoint, err = checkpointAsOf(ctx, q, threadID, asOf); err != nil {
			return err
		}
		v.Rows, err = readTranscript(ctx, q, threadID, v.Checkpoint, asOf)
		if err != nil || o.AtSeq != 0 {
			return err
		}
		pending, err := readPending(ctx, q, threadID)
		v.Rows = newestByID(append(v.Rows, pending...))
		return err
	})
	if err != nil {
		return View{}, wrap(err, "view thread %q", threadID)
	}
	return v, nil
}

// readTranscript reads the rows in view of a checkpoint and the newer ones. A
// summary is no part of it.
func readTranscript(ctx context.Context, q querier, threadID string, c *Checkpoint, asOf int64) ([]Row, error) {
	var rows []Row
	var next int64
	if c != nil {
		var err error
		if rows, err = readCursor(ctx, q, rowColumns, threadID, c.Cursor, asOf); err != nil {
			return nil, err
		}
		next = c.NextPos
	}
	newer, err := readRange(ctx, q, rowColumns, threadID, next, math.MaxInt64, asOf)
	if err != nil {
		return nil, err
	}
	for i := range newer {
		if !newer[i].Message.IsSummary() {
			rows = append(rows, newer[i])
		}
	}
	return newestByID(rows), nil
}
