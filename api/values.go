package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// channels are the state of a thread by channel name.
type channels map[string]json.RawMessage

// interruptKey is where the questions that a thread waits with stand in its
// values.
const interruptKey = "__interrupt__"

// stateChannels encodes the state without the messages.
func stateChannels(state *thread.State) (channels, error) {
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	c := channels{}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	return c, nil
}

// valuesOf are all channels of what a client sees of a thread. A thread in
// which nothing has happened has none.
func valuesOf(v *store.View) (channels, error) {
	if v.Checkpoint == nil && len(v.Rows) == 0 {
		return channels{}, nil
	}
	var state thread.State
	if v.Checkpoint != nil {
		state = v.Checkpoint.State
	}
	c, err := stateChannels(&state)
	if err != nil {
		return nil, err
	}
	if _, set := c["artifacts"]; !set {
		c["artifacts"] = json.RawMessage("[]")
	}
	c["messages"], err = messageList(v.Rows)
	return c, err
}

// valuesKey names the state of a thread as of an event of a run.
type valuesKey struct {
	thread, run string
	seq         int64
}

// valuesAt is the whole state as of an event, encoded. The readers of a run ask
// for it at the same time, so it is made once.
func (s *Server) valuesAt(ctx context.Context, threadID, runID string, seq int64) ([]byte, error) {
	key := valuesKey{thread: threadID, run: runID, seq: seq}
	return s.values.get(ctx, key, func(ctx context.Context) ([]byte, int, error) {
		view, err := s.o.Store.View(ctx, threadID, store.ViewOptions{AtSeq: seq})
		if err != nil {
			return nil, 0, err
		}
		c, err := valuesOf(&view)
		if err != nil {
			return nil, 0, err
		}
		data, err := json.Marshal(c)
		return data, len(data), err
	})
}

// withInterrupts adds the questions to encoded values.
func withInterrupts(values []byte, interrupts []thread.Interrupt) ([]byte, error) {
	list, err := json.Marshal(interrupts)
	if err != nil {
		return nil, fmt.Errorf("encode the interrupts: %w", err)
	}
	if len(values) < 2 {
		return nil, errors.New("values are no object")
	}
	out := make([]byte, 0, len(values)+len(list)+len(interruptKey)+8)
	out = append(out, values[:len(values)-1]...)
	if len(values) > 2 {
		out = append(out, ',')
	}
	out = append(out, `"`+interruptKey+`":`...)
	out = append(out, list...)
	return append(out, '}'), nil
}
