package store

import (
	"context"
	"fmt"
	"math"

	"deerflow/internal/failpoint"
)

// Claim takes the right to write a message from whoever had it. A message that
// is complete is given as it is. From the second claim on the log gets a reset
// event: what was streamed before is void. A message that a commit has sealed
// without a row is an [ErrFenced].
func (s *Store) Claim(ctx context.Context, c Claim) (ClaimResult, error) {
	var result ClaimResult
	err := checkKey("message id", c.MessageID)
	var ride *commit
	if err == nil && c.Commit != nil {
		ride, err = newCommit(c.Commit)
	}
	if err == nil {
		err = s.write(ctx, c.Ref.Thread, func(ctx context.Context, t *tx) (err error) {
			result = ClaimResult{}
			if err := t.lock(ctx, c.Ref.Thread); err != nil {
				return err
			}
			if ride != nil {
				if _, err := ride.once(ctx, t); err != nil {
					return fmt.Errorf("commit step %d of run %q first: %w", c.Commit.Step, c.Commit.Run, err)
				}
			}
			if result.Done, err = newestRow(ctx, t, c.Ref.Thread, c.MessageID, math.MaxInt64); err != nil || result.Done != nil {
				return err
			}
			result.Claim, err = t.claim(ctx, &c)
			result.MayHaveRun = c.Unsafe && result.Claim > 1
			return err
		})
	}
	if err != nil {
		return ClaimResult{}, wrap(err, "claim message %q of thread %q", c.MessageID, c.Ref.Thread)
	}
	if ride != nil {
		failpoint.Here(failpoint.CommitRode, c.Ref.Thread)
	}
	return result, nil
}

// claim counts the claim up and voids what the one before has streamed.
func (t *tx) claim(ctx context.Context, c *Claim) (int, error) {
	var claim, closed int
	err := get(ctx, t, `INSERT INTO claims (thread_id, message_id, claim, run_id, step, first_seq, from_seq) VALUES (?, ?, 1, ?, ?, ?, ?)
		ON CONFLICT (thread_id, message_id) DO UPDATE SET claim = claims.claim + 1, from_seq = excluded.from_seq
		RETURNING claim, closed`,
		[]any{c.Ref.Thread, c.MessageID, c.Ref.Run, c.Ref.Step, t.last, t.last}, &claim, &closed)
	if err != nil {
		return 0, err
	}
	if closed != 0 {
		return 0, fmt.Errorf("a commit has closed it: %w", ErrFenced)
	}
	if claim > 1 {
		from := origin{run: c.Ref.Run, step: c.Ref.Step, claim: claim}
		if _, err := t.emitValue(ctx, from, EventReset, Reset{MessageID: c.MessageID, Claim: claim}); err != nil {
			return 0, err
		}
	}
	return claim, nil
}

// check fails unless the claim is the newest and the message still open.
func (o *Owner) check(ctx context.Context, t *tx) error {
	var claim, closed int
	err := get(ctx, t, `SELECT claim, closed FROM claims WHERE thread_id = ? AND message_id = ?`,
		[]any{o.Ref.Thread, o.MessageID}, &claim, &closed)
	switch {
	case isNoRow(err) && o.Claim == 0:
		return nil
	case isNoRow(err):
		return fmt.Errorf("claim %d was never given: %w", o.Claim, ErrFenced)
	case err != nil:
		return err
	case closed != 0:
		return fmt.Errorf("the message is closed: %w", ErrFenced)
	case o.Claim != 0 && claim != o.Claim:
		return fmt.Errorf("claim %d is not the newest, which is %d: %w", o.Claim, claim, ErrFenced)
	}
	return nil
}

// close ends writing to a message: no claim holds any more, and its deltas may
// be pruned after a while.
func (t *tx) closeClaim(ctx context.Context, messageID string) error {
	_, err := t.exec(ctx, `UPDATE claims SET claim = claim + 1, closed = 1, closed_seq = ?, closed_at = ?
		WHERE thread_id = ? AND message_id = ? AND closed = 0`, t.last, micros(t.now), t.thread, messageID)
	return err
}

func (o *Owner) origin() origin {
	return origin{run: o.Ref.Run, step: o.Ref.Step, claim: o.Claim}
}
