package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
)

// Append adds events to the log under a claim. It is an [ErrFenced], and nothing
// is written, when the claim is not the newest or the message is complete.
func (s *Store) Append(ctx context.Context, o Owner, events ...NewEvent) error {
	if len(events) == 0 {
		return nil
	}
	encoded, err := encodeEvents(events)
	if err == nil {
		err = s.write(ctx, o.Ref.Thread, func(ctx context.Context, t *tx) error {
			if err := t.take(ctx, o.Ref.Thread, len(encoded)); err != nil {
				return err
			}
			if err := o.check(ctx, t); err != nil {
				return err
			}
			return t.emitAll(ctx, o.origin(), encoded)
		})
	}
	return wrap(err, "append to message %q of thread %q", o.MessageID, o.Ref.Thread)
}

// encodeEvents does the costly part before the transaction.
func encodeEvents(events []NewEvent) ([]Event, error) {
	encoded := make([]Event, len(events))
	for i, e := range events {
		if e.Type == "" {
			return nil, fmt.Errorf("an event has no type: %w", ErrInvalid)
		}
		data, err := encode(e.Data)
		if err != nil {
			return nil, err
		}
		encoded[i] = Event{Type: e.Type, Data: data}
	}
	return encoded, nil
}

func (t *tx) emitAll(ctx context.Context, from origin, events []Event) error {
	for _, e := range events {
		if _, err := t.emit(ctx, from, e.Type, e.Data); err != nil {
			return err
		}
	}
	return nil
}

// Finish completes a message: its row, the given events and the message event
// in one transaction. It is an [ErrFenced] when the claim is not the newest;
// when the row is complete already, it gives what the row holds.
func (s *Store) Finish(ctx context.Context, o Owner, n NewRow, events ...NewEvent) (Row, error) {
	var row Row
	encoded, err := encodeEvents(events)
	if err == nil && n.Message.ID != o.MessageID {
		err = fmt.Errorf("the message has the id %q: %w", n.Message.ID, ErrInvalid)
	}
	var body json.RawMessage
	if err == nil {
		body, err = encode(n.Message)
	}
	if err == nil {
		err = s.write(ctx, o.Ref.Thread, func(ctx context.Context, t *tx) error {
			if err := t.lock(ctx, o.Ref.Thread); err != nil {
				return err
			}
			done, err := newestRow(ctx, t, o.Ref.Thread, o.MessageID, math.MaxInt64)
			if err != nil {
				return err
			}
			if done != nil {
				row = *done
				return nil
			}
			if err := o.check(ctx, t); err != nil {
				return err
			}
			if err := t.emitAll(ctx, o.origin(), encoded); err != nil {
				return err
			}
			row = Row{Pos: n.Pos, ID: o.MessageID, RunID: o.Ref.Run, Step: o.Ref.Step, Message: n.Message, Digest: n.Digest}
			// A client may have chosen the same id for a message that waits still.
			if row.Rev, err = nextRev(ctx, t, o.Ref.Thread, o.MessageID); err != nil {
				return err
			}
			if err := t.insertRow(ctx, &row, string(body), o.origin()); err != nil {
				return err
			}
			if err := t.addEvidence(ctx, &row, &n); err != nil {
				return err
			}
			return t.closeClaim(ctx, o.MessageID)
		})
	}
	if err != nil {
		return Row{}, wrap(err, "finish message %q of thread %q", o.MessageID, o.Ref.Thread)
	}
	return row, nil
}

// addEvidence stores what a step has left beside its message.
func (t *tx) addEvidence(ctx context.Context, row *Row, n *NewRow) error {
	if err := t.addSources(ctx, row, n.Sources); err != nil {
		return err
	}
	for i := range n.Checks {
		if err := t.putCheck(ctx, row.RunID, &n.Checks[i]); err != nil {
			return err
		}
	}
	if n.Changes == nil {
		return nil
	}
	return t.putChanges(ctx, row.RunID, n.Changes)
}
