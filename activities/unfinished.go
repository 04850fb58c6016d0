package activities

import (
	"context"
	"fmt"
	"math"
	"slices"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// unfinished lists what the steps of stopped runs had made and begun when their
// workflow was lost: the workflow that takes such a run up closes it, so that the
// text which was shown stays and each tool call has a result.
func (a *Activities) unfinished(ctx context.Context, in step.LoadThreadInput, plan *agent.Plan, head *step.Head, runs []step.RunningRun) ([]step.Unfinished, error) {
	var out []step.Unfinished
	for _, run := range runs {
		if !in.Stopped && run.Stopped == "" {
			continue
		}
		rows, err := a.o.Store.Messages(ctx, in.Thread, thread.Cursor{Segments: []thread.Segment{{From: 0, To: math.MaxInt64}}})
		if err != nil {
			return nil, err
		}
		rows = slices.DeleteFunc(rows, func(r store.Row) bool { return r.RunID != run.RunID || r.Message.IsSummary() })
		u := step.Unfinished{Run: run.RunID, Seals: openCalls(run.RunID, rows)}
		for i := range rows {
			if head == nil || rows[i].Pos < head.NextPos {
				continue
			}
			d, err := rowDigest(plan, &rows[i])
			if err != nil {
				return nil, err
			}
			u.Made = append(u.Made, d)
		}
		claimed, err := a.o.Store.OpenMessages(ctx, in.Thread, run.RunID)
		if err != nil {
			return nil, err
		}
		for _, id := range claimed {
			if !slices.ContainsFunc(u.Seals, func(s step.Seal) bool { return s.MessageID == id }) {
				u.Seals = append(u.Seals, step.Seal{MessageID: id, Stream: true})
			}
		}
		out = append(out, u)
	}
	return out, nil
}

// openCalls are the tool calls of a run that have no result. Their steps and
// places follow those of the message which asks for them, in its order.
func openCalls(runID string, rows []store.Row) []step.Seal {
	answered := map[string]bool{}
	var asker *store.Row
	for i := range rows {
		answered[rows[i].ID] = true
		if rows[i].Message.Role == thread.RoleAI {
			asker = &rows[i]
		}
	}
	if asker == nil {
		return nil
	}
	var open []step.Seal
	for n := 0; ; n++ {
		call, _, ok := asker.Message.CallAt(n)
		if !ok {
			return open
		}
		id := thread.MessageID(runID, asker.Step+1+n)
		if answered[id] || answered[thread.ClarificationID(call.ID)] {
			continue
		}
		open = append(open, step.Seal{MessageID: id, Pos: asker.Pos + 1 + int64(n), Fallback: thread.ToolResult(id,
			thread.ToolCall{Name: call.Name, ID: call.ID}, thread.ToolError,
			fmt.Sprintf("Error: stopped by the user before %s ended. It may have run in part.", call.Name))})
	}
}
