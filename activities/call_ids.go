package activities

import (
	"context"
	"sync"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// knownCalls reports whether the thread has seen the id of a call, beside those
// that the model reads.
func (a *Activities) knownCalls(ctx context.Context, in step.CallModelInput, rows []store.Row) func(string) bool {
	asked := a.askedBefore(ctx, in.Thread)
	if len(rows) == 0 || !rows[0].Message.IsSummary() {
		return asked
	}
	compacted := sync.OnceValue(func() map[string]bool { return a.callsBefore(ctx, in) })
	return func(id string) bool { return compacted()[id] || asked(id) }
}

// callsBefore are the ids of all calls in the thread: those that were compacted
// away are still listed, and clients find results by them.
func (a *Activities) callsBefore(ctx context.Context, in step.CallModelInput) map[string]bool {
	ids := map[string]bool{}
	rows, err := a.o.Store.Messages(ctx, in.Thread, thread.Cursor{Segments: []thread.Segment{{From: 0, To: in.Pos}}})
	if err != nil {
		a.o.Logger.Warn("The calls of a thread could not be looked through", "thread", in.Thread, "error", err)
	}
	for i := range rows {
		for k := range rows[i].Message.CallCount() {
			call, _, _ := rows[i].Message.CallAt(k)
			ids[call.ID] = true
		}
	}
	return ids
}
