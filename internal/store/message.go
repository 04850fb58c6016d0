package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"deerflow/internal/thread"
)

// noPos is the position of a message that is not in the transcript yet.
const noPos = -1

const rowColumns = `m.pos, m.id, m.run_id, m.step, m.rev, m.seq, m.body, m.digest, m.created_at`

// briefColumns leave out the bodies of rows whose digest tells all that a
// workflow wants to know.
const briefColumns = `m.pos, m.id, m.run_id, m.step, m.rev, m.seq,
	CASE WHEN m.rev = 0 AND m.digest <> '' THEN '{}' ELSE m.body END, m.digest, m.created_at`

func scanRow(r scanner) (Row, error) {
	var row Row
	var pos sql.NullInt64
	var body, digest string
	var at int64
	if err := r.Scan(&pos, &row.ID, &row.RunID, &row.Step, &row.Rev, &row.Seq, &body, &digest, &at); err != nil {
		return Row{}, err
	}
	row.Pos = noPos
	if pos.Valid {
		row.Pos = pos.Int64
	}
	row.Digest, row.At = raw(digest), fromMicros(at)
	if err := decode(body, &row.Message); err != nil {
		return Row{}, fmt.Errorf("message %s: %w", row.ID, err)
	}
	return row, nil
}

// insertRow stores a revision of a message, whose body is row.Message encoded,
// together with its event, which belongs to the step that from names. It fills
// in Seq and At.
func (t *tx) insertRow(ctx context.Context, row *Row, body string, from origin) error {
	seq, err := t.emitValue(ctx, from, EventMessage, MessageRef{ID: row.ID, Rev: row.Rev, Role: row.Message.Role})
	if err != nil {
		return err
	}
	row.Seq, row.At = seq, t.now
	_, err = t.exec(ctx, `INSERT INTO messages (thread_id, id, rev, pos, seq, run_id, step, body, digest, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.thread, row.ID, row.Rev, row.Pos, row.Seq, row.RunID, row.Step, body, clean(string(row.Digest)), micros(t.now))
	return err
}

// newestRow is the newest revision of a message that had its event by seq asOf;
// nil if there is none.
func newestRow(ctx context.Context, q querier, threadID, id string, asOf int64) (*Row, error) {
	rows, err := all(ctx, q, scanRow, `SELECT `+rowColumns+` FROM messages AS m
		WHERE m.thread_id = ? AND m.id = ? AND m.pos IS NOT NULL AND m.seq <= ? ORDER BY m.rev DESC LIMIT 1`, threadID, id, asOf)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// readRange reads the rows at positions [from, to) as of a sequence number: at
// each position the one that was written last.
func readRange(ctx context.Context, q querier, columns, threadID string, from, to, asOf int64) ([]Row, error) {
	rows, err := all(ctx, q, scanRow, `SELECT `+columns+` FROM messages AS m
		WHERE m.thread_id = ? AND m.pos >= ? AND m.pos < ? AND m.seq <= ? ORDER BY m.pos, m.seq`, threadID, from, to, asOf)
	if err != nil {
		return nil, err
	}
	kept := rows[:0]
	for _, row := range rows {
		if n := len(kept); n > 0 && kept[n-1].Pos == row.Pos {
			kept[n-1] = row
			continue
		}
		kept = append(kept, row)
	}
	return kept, nil
}

// readCursor reads the rows that a cursor shows, in its order.
func readCursor(ctx context.Context, q querier, columns, threadID string, c thread.Cursor, asOf int64) ([]Row, error) {
	var rows []Row
	for _, seg := range c.Segments {
		part, err := readRange(ctx, q, columns, threadID, seg.From, seg.To, asOf)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	return newestByID(rows), nil
}

// newestByID drops rows of messages that come again with a later revision: a
// message that was submitted anew has moved.
func newestByID(rows []Row) []Row {
	newest := make(map[string]int, len(rows))
	for i, row := range rows {
		if j, ok := newest[row.ID]; !ok || rows[j].Rev <= row.Rev {
			newest[row.ID] = i
		}
	}
	if len(newest) == len(rows) {
		return rows
	}
	kept := make([]Row, 0, len(newest))
	for i, row := range rows {
		if newest[row.ID] == i {
			kept = append(kept, row)
		}
	}
	return kept
}

// readPending reads the messages of runs that no workflow has taken up, in the
// order of submission.
func readPending(ctx context.Context, q querier, threadID string) ([]Row, error) {
	return all(ctx, q, scanRow, `SELECT `+rowColumns+` FROM messages AS m
		JOIN runs AS r ON r.thread_id = m.thread_id AND r.id = m.run_id
		WHERE m.thread_id = ? AND m.pos IS NULL AND r.status = 'pending' ORDER BY r.created_at, r.id, m.ord`, threadID)
}

// Messages reads the rows that a cursor shows, newest revisions, in the order of
// its segments. The rows are shared with other callers: read only.
func (s *Store) Messages(ctx context.Context, threadID string, c thread.Cursor) ([]Row, error) {
	var rows []Row
	read := s.read
	if len(c.Segments) > 1 {
		read = s.snapshot
	}
	err := read(ctx, func(ctx context.Context, q querier) (err error) {
		rows = nil // it may be called again
		for _, seg := range c.Segments {
			part, err := s.cache.read(ctx, q, threadID, seg)
			if err != nil {
				return err
			}
			rows = append(rows, part...)
		}
		rows = newestByID(rows)
		return nil
	})
	return rows, wrap(err, "read messages of thread %q", threadID)
}

// GetMessage reads the newest revision of a message; an [ErrNotFound] if it is
// not in the transcript.
func (s *Store) GetMessage(ctx context.Context, threadID, id string) (Row, error) {
	var row *Row
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		row, err = newestRow(ctx, q, threadID, id, math.MaxInt64)
		return err
	})
	if err == nil && row == nil {
		err = ErrNotFound
	}
	if err != nil {
		return Row{}, wrap(err, "read message %q of thread %q", id, threadID)
	}
	return *row, nil
}

// HasMessage reports whether a message of this id was ever stored: in view, out
// of it by a rollback, or waiting with its run.
func (s *Store) HasMessage(ctx context.Context, threadID, id string) (bool, error) {
	next := 0
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		next, err = nextRev(ctx, q, threadID, id)
		return err
	})
	return next > 0, wrap(err, "look for message %q of thread %q", id, threadID)
}

// isNoRow tells an empty answer from a failure.
func isNoRow(err error) bool { return errors.Is(err, sql.ErrNoRows) }
