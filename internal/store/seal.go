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
// without text and fallback there is no row. Readers are told to drop what they
// were shown where it is not what the message says in the end.
func (c *commit) seal(ctx context.Context, t *tx, s *step.Seal) error {
	done, err := newestRow(ctx, t, c.in.Thread, s.MessageID, t.last)
	if err != nil || done != nil {
		return err
	}
	row := Row{Pos: s.Pos, ID: s.MessageID, RunID: c.in.Run, Step: c.in.Step}
	shown, err := c.shown(ctx, t, s, &row)
	if err != nil {
		return err
	}
	row.Message = s.Fallback
	found := s.Stream && shown.text
	if found {
		row.Message = shown.message
	}
	row.Message.ID = s.MessageID
	if shown.calls || shown.text && !found {
		if err := t.takeBack(ctx, &row, shown.claim); err != nil {
			return err
		}
	}
	if !found && s.Stream && noText(&s.Fallback) {
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

func noText(m *thread.Message) bool { return m.Content.String() == "" && !m.Content.IsBlocks() }

// takeBack tells readers to drop what a claim has streamed of a message.
func (t *tx) takeBack(ctx context.Context, row *Row, claim int) error {
	from := origin{run: row.RunID, step: row.Step, claim: claim}
	_, err := t.emitValue(ctx, from, EventReset, Reset{MessageID: row.ID, Claim: claim})
	return err
}

// shown finds what readers were shown of a model's message, and whose it is.
func (c *commit) shown(ctx context.Context, t *tx, s *step.Seal, row *Row) (streamed, error) {
	var claim int
	var from int64
	err := get(ctx, t, `SELECT claim, from_seq, run_id, step FROM claims WHERE thread_id = ? AND message_id = ?`,
		[]any{c.in.Thread, s.MessageID}, &claim, &from, &row.RunID, &row.Step)
	if isNoRow(err) {
		return streamed{}, nil
	}
	if err != nil || !s.Stream && s.Fallback.Role != thread.RoleAI {
		return streamed{}, err
	}
	shown, err := gather(ctx, t, s.MessageID, claim, from)
	if err != nil {
		return streamed{}, fmt.Errorf("gather what was streamed of message %q: %w", s.MessageID, err)
	}
	shown.claim = claim
	return shown, nil
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

// streamed is what readers were shown of a message.
type streamed struct {
	message thread.Message // without calls of tools, which were never run
	text    bool           // there was text, or reasoning
	calls   bool
	claim   int // whose it was
}

// gather joins the deltas of a claim, which all lie after from.
func gather(ctx context.Context, t *tx, messageID string, claim int, from int64) (streamed, error) {
	texts, err := all(ctx, t, scanString, `SELECT data FROM events WHERE thread_id = ? AND seq > ? AND claim = ? AND type = ? ORDER BY seq`,
		t.thread, from, claim, EventDelta)
	if err != nil {
		return streamed{}, err
	}
	var text, reasoning strings.Builder
	s := streamed{message: thread.Message{Role: thread.RoleAI}}
	for _, data := range texts {
		var d Delta
		if err := decode(data, &d); err != nil {
			return streamed{}, err
		}
		if d.MessageID != messageID {
			continue // of a parallel step
		}
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		s.calls = s.calls || len(d.ToolCalls) > 0
		if d.Usage != nil {
			s.message.Usage = d.Usage
		}
	}
	if s.text = text.Len() > 0 || reasoning.Len() > 0; !s.text {
		return s, nil
	}
	s.message.Content = thread.Text(text.String())
	s.message.SetKwarg(thread.KeyStopped, true)
	if reasoning.Len() > 0 {
		s.message.SetKwarg(thread.KeyReasoning, reasoning.String())
	}
	return s, nil
}
