package store

import (
	"context"
	"fmt"
	"strings"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// seal closes a message for writers. What a model has streamed of it so far
// becomes the message, marked as stopped; a tool's result, or a model's without
// any text, becomes the fallback. A row that is complete stays as it is, and
// without text and fallback there is no row.
func (c *commit) seal(ctx context.Context, t *tx, s *step.Seal) error {
	done, err := newestRow(ctx, t, c.in.Thread, s.MessageID, t.last)
	if err != nil || done != nil {
		return err
	}
	row := Row{Pos: s.Pos, ID: s.MessageID, RunID: c.in.Run, Step: c.in.Step}
	var claim int
	var from int64
	err = get(ctx, t, `SELECT claim, from_seq, run_id, step FROM claims WHERE thread_id = ? AND message_id = ?`,
		[]any{c.in.Thread, s.MessageID}, &claim, &from, &row.RunID, &row.Step)
	claimed := err == nil
	if err != nil && !isNoRow(err) {
		return err
	}
	found := false
	if s.Stream && claimed {
		if row.Message, found, err = gather(ctx, t, s.MessageID, claim, from); err != nil {
			return fmt.Errorf("gather what was streamed of message %q: %w", s.MessageID, err)
		}
	}
	if !found {
		row.Message = s.Fallback
	}
	row.Message.ID = s.MessageID
	if !found && s.Stream && s.Fallback.Content.String() == "" && !s.Fallback.Content.IsBlocks() {
		return c.sealEmpty(ctx, t, &row)
	}
	body, err := encode(row.Message)
	if err != nil {
		return err
	}
	if row.Rev, err = nextRev(ctx, t, c.in.Thread, row.ID); err != nil {
		return err
	}
	return c.place(ctx, t, &row, body)
}

// sealEmpty closes a message that will have no row, also for an attempt that has
// not claimed it yet.
func (c *commit) sealEmpty(ctx context.Context, t *tx, row *Row) error {
	_, err := t.exec(ctx, `INSERT INTO claims (thread_id, message_id, claim, run_id, step, first_seq, from_seq) VALUES (?, ?, 0, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, c.in.Thread, row.ID, row.RunID, row.Step, t.last, t.last)
	if err != nil {
		return err
	}
	return t.closeClaim(ctx, row.ID)
}

// gather joins the deltas of a claim, which all lie after from. It reports
// whether there was any text; calls of tools that were never run are left out.
func gather(ctx context.Context, t *tx, messageID string, claim int, from int64) (thread.Message, bool, error) {
	texts, err := all(ctx, t, scanString, `SELECT data FROM events WHERE thread_id = ? AND seq > ? AND claim = ? AND type = ? ORDER BY seq`,
		t.thread, from, claim, EventDelta)
	if err != nil {
		return thread.Message{}, false, err
	}
	var text, reasoning strings.Builder
	m := thread.Message{Role: thread.RoleAI}
	for _, data := range texts {
		var d Delta
		if err := decode(data, &d); err != nil {
			return thread.Message{}, false, err
		}
		if d.MessageID != messageID {
			continue // of a parallel step
		}
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		if d.Usage != nil {
			m.Usage = d.Usage
		}
	}
	if text.Len() == 0 && reasoning.Len() == 0 {
		return thread.Message{}, false, nil
	}
	m.Content = thread.Text(text.String())
	m.SetKwarg(thread.KeyStopped, true)
	if reasoning.Len() > 0 {
		m.SetKwarg(thread.KeyReasoning, reasoning.String())
	}
	return m, true, nil
}
