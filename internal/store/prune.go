package store

import (
	"context"
	"errors"
	"time"
)

// pruneBatch is how many messages are looked at in one go, so that pruning
// never holds up writers for long.
const pruneBatch = 100

// closedClaim is a message that is final, with the part of the log in which its
// deltas lie.
type closedClaim struct {
	thread, message, run string
	step                 int
	first, last          int64
}

func scanClosedClaim(r scanner) (c closedClaim, err error) {
	err = r.Scan(&c.thread, &c.message, &c.run, &c.step, &c.first, &c.last)
	return c, err
}

// PruneDeltas removes the deltas and resets of messages that have been final
// since before a time, and says how many events went. [Store.FirstSeq] of their
// threads moves behind them.
func (s *Store) PruneDeltas(ctx context.Context, olderThan time.Time) (int, error) {
	total := 0
	for {
		var batch []closedClaim
		err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
			batch, err = all(ctx, q, scanClosedClaim, `SELECT thread_id, message_id, run_id, step, first_seq, closed_seq FROM claims
				WHERE closed_at < ? ORDER BY closed_at LIMIT ?`, micros(olderThan), pruneBatch)
			return err
		})
		if err != nil {
			return total, wrap(err, "find deltas to prune")
		}
		byThread := map[string][]closedClaim{}
		for _, c := range batch {
			byThread[c.thread] = append(byThread[c.thread], c)
		}
		for threadID, claims := range byThread {
			n, err := s.pruneThread(ctx, threadID, claims)
			if err != nil {
				return total, wrap(err, "prune deltas of thread %q", threadID)
			}
			total += n
		}
		if len(batch) < pruneBatch {
			return total, nil
		}
	}
}

// pruneThread removes the deltas of messages of one thread.
func (s *Store) pruneThread(ctx context.Context, threadID string, claims []closedClaim) (int, error) {
	removed := 0
	err := s.write(ctx, threadID, func(ctx context.Context, t *tx) error {
		removed = 0
		if err := t.lock(ctx, threadID); err != nil {
			return err
		}
		for i := range claims {
			n, err := t.pruneMessage(ctx, &claims[i])
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	if errors.Is(err, ErrThreadGone) {
		return 0, nil // and its events with it
	}
	return removed, err
}

func (t *tx) pruneMessage(ctx context.Context, c *closedClaim) (int, error) {
	const which = ` FROM events WHERE thread_id = ? AND seq > ? AND seq <= ? AND run_id = ? AND step = ? AND type IN ('delta', 'reset')`
	args := []any{c.thread, c.first, c.last, c.run, c.step}
	var count int
	var newest int64
	if err := get(ctx, t, `SELECT COUNT(*), COALESCE(MAX(seq), 0)`+which, args, &count, &newest); err != nil {
		return 0, err
	}
	if count > 0 {
		if _, err := t.exec(ctx, `DELETE`+which, args...); err != nil {
			return 0, err
		}
		if _, err := t.exec(ctx, `UPDATE threads SET pruned_seq = ? WHERE id = ? AND pruned_seq < ?`, newest, c.thread, newest); err != nil {
			return 0, err
		}
	}
	return count, t.dropClaim(ctx, c)
}

// dropClaim forgets the claim of a message, unless the message has no row: then
// the claim is all that keeps late writers out.
func (t *tx) dropClaim(ctx context.Context, c *closedClaim) error {
	n, err := t.exec(ctx, `DELETE FROM claims WHERE thread_id = ? AND message_id = ?
		AND EXISTS (SELECT 1 FROM messages AS m WHERE m.thread_id = claims.thread_id AND m.id = claims.message_id AND m.pos IS NOT NULL)`,
		c.thread, c.message)
	if err != nil || n > 0 {
		return err
	}
	_, err = t.exec(ctx, `UPDATE claims SET closed_at = NULL WHERE thread_id = ? AND message_id = ?`, c.thread, c.message)
	return err
}
