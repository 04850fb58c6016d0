package store

import (
	"context"
	"encoding/json"
)

// defaultEvents is how many events a page of the log has when nobody says.
const defaultEvents = 1000

func scanEvent(r scanner) (Event, error) {
	var e Event
	var data string
	var at int64
	if err := r.Scan(&e.Thread, &e.Seq, &e.Run, &e.Step, &e.Claim, &e.Type, &data, &at); err != nil {
		return Event{}, err
	}
	e.Data, e.At = json.RawMessage(data), fromMicros(at)
	return e, nil
}

// Events reads a page of a thread's log: events after a sequence number, in
// order; none for a thread that is not there. 0 is a limit of 1000.
func (s *Store) Events(ctx context.Context, threadID string, after int64, limit int) ([]Event, error) {
	var events []Event
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		events, err = all(ctx, q, scanEvent, `SELECT thread_id, seq, run_id, step, claim, type, data, at FROM events
			WHERE thread_id = ? AND seq > ? ORDER BY seq LIMIT ?`, threadID, after, limitOr(limit, defaultEvents))
		return err
	})
	return events, wrap(err, "read events of thread %q after %d", threadID, after)
}

// LastSeq is the number of a thread's last event, 0 before the first. An
// [ErrNotFound] if there is no such thread.
func (s *Store) LastSeq(ctx context.Context, threadID string) (int64, error) {
	return s.threadSeq(ctx, threadID, `SELECT last_seq FROM threads WHERE id = ?`)
}

// FirstSeq is the first number from which on the log of a thread is whole:
// before it, deltas may have been pruned, while all other events are there
// still. An [ErrNotFound] if there is no such thread.
func (s *Store) FirstSeq(ctx context.Context, threadID string) (int64, error) {
	return s.threadSeq(ctx, threadID, `SELECT pruned_seq + 1 FROM threads WHERE id = ?`)
}

func (s *Store) threadSeq(ctx context.Context, threadID, query string) (int64, error) {
	var seq int64
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		err := get(ctx, q, query, []any{threadID}, &seq)
		if isNoRow(err) {
			return ErrNotFound
		}
		return err
	})
	return seq, wrap(err, "read the log of thread %q", threadID)
}
