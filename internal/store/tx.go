package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// tx is one job's share of a transaction. It gives events their numbers and
// remembers them for whoever is told after the commit.
type tx struct {
	querier
	locking bool // the database has writers beside us: lock the thread's row
	now     time.Time
	thread  string
	saved   int64 // last_seq as the thread's row has it
	last    int64 // last_seq as it will be
	events  []Event
}

// work is what a job does in its transaction.
type work func(ctx context.Context, t *tx) error

// run does the work and saves the thread's sequence number.
func (t *tx) run(ctx context.Context, do work) error {
	if err := do(ctx, t); err != nil {
		return err
	}
	if t.last == t.saved {
		return nil
	}
	_, err := t.exec(ctx, `UPDATE threads SET last_seq = ? WHERE id = ?`, t.last, t.thread)
	return err
}

// lock makes the thread ours until the end of the transaction: numbers of
// events come out in commit order, and claims cannot change meanwhile.
func (t *tx) lock(ctx context.Context, threadID string) error {
	query := `SELECT last_seq FROM threads WHERE id = ?`
	if t.locking {
		query = `SELECT last_seq FROM threads WHERE id = ? FOR UPDATE`
	}
	err := get(ctx, t, query, []any{threadID}, &t.last)
	if isNoRow(err) {
		return ErrThreadGone
	}
	t.thread, t.saved = threadID, t.last
	return err
}

// take locks the thread and reserves n numbers at once, which must all be used.
func (t *tx) take(ctx context.Context, threadID string, n int) error {
	var last int64
	err := get(ctx, t, `UPDATE threads SET last_seq = last_seq + ? WHERE id = ? RETURNING last_seq`,
		[]any{n, threadID}, &last)
	if isNoRow(err) {
		return ErrThreadGone
	}
	t.thread, t.saved, t.last = threadID, last, last-int64(n)
	return err
}

// origin says which step an event comes from.
type origin struct {
	run   string
	step  int
	claim int
}

// emit appends an event to the log of the locked thread.
func (t *tx) emit(ctx context.Context, from origin, typ string, data json.RawMessage) (int64, error) {
	e := Event{
		Thread: t.thread, Seq: t.last + 1, Run: from.run, Step: from.step, Claim: from.claim,
		Type: typ, Data: data, At: t.now,
	}
	_, err := t.exec(ctx, `INSERT INTO events (thread_id, seq, run_id, step, claim, type, data, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		e.Thread, e.Seq, e.Run, e.Step, e.Claim, e.Type, string(e.Data), micros(e.At))
	if err != nil {
		return 0, fmt.Errorf("append event %s: %w", typ, err)
	}
	t.last = e.Seq
	t.events = append(t.events, e)
	return e.Seq, nil
}

// emitValue is emit for a value of our own types.
func (t *tx) emitValue(ctx context.Context, from origin, typ string, value any) (int64, error) {
	data, err := encode(value)
	if err != nil {
		return 0, err
	}
	return t.emit(ctx, from, typ, data)
}

// encode writes JSON that both databases take as text.
func encode(v any) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return json.RawMessage(clean(string(data))), nil
}

// clean makes text that Postgres takes: valid UTF-8 without NUL.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// clock gives times that grow by at least a microsecond, which is what is
// stored: rows that are made one after the other keep their order.
type clock struct{ last atomic.Int64 }

func (c *clock) now() time.Time {
	for {
		last := c.last.Load()
		next := max(time.Now().UnixMicro(), last+1)
		if c.last.CompareAndSwap(last, next) {
			return time.UnixMicro(next).UTC()
		}
	}
}

func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }
