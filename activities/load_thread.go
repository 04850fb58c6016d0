package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"deerflow/internal/agent"
	"deerflow/internal/failpoint"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// LoadThread reads the head of a thread that starts or continues: the newest
// checkpoint and the digests of the messages in view.
func (a *Activities) LoadThread(ctx context.Context, in step.LoadThreadInput) (step.LoadThreadResult, error) {
	var out step.LoadThreadResult
	head, err := a.o.Store.LoadHead(ctx, in.Thread, wanted(in))
	if err != nil {
		return out, border(ctx, "load thread "+in.Thread, err)
	}
	if in.Carried {
		failpoint.Here(failpoint.Continued, in.Thread)
	}
	var plan *agent.Plan
	if c := head.Checkpoint; c != nil && !in.Carried {
		out.Head = &step.Head{
			ID: c.ID, Data: c.Data, Cursor: c.Cursor, NextPos: c.NextPos,
			State: c.State, Status: c.Status, Interrupts: c.Interrupts,
		}
		if plan, err = a.planOfCheckpoint(ctx, c); err != nil {
			return out, border(ctx, "load the plan of thread "+in.Thread, err)
		}
		if plan != nil {
			out.Plan = &plan.Summary
		}
	}
	if plan == nil {
		plan = &agent.Plan{}
	}
	out.Ended = head.RecentRuns
	if !in.Carried {
		if out.Running, err = a.running(ctx, in.Thread); err == nil {
			out.Unfinished, err = a.unfinished(ctx, in, plan, out.Head, out.Running)
		}
		if err != nil {
			return out, border(ctx, "list what thread "+in.Thread+" has not finished", err)
		}
	}
	if out.Digests, err = digestsOf(plan, head.Rows, in.Only); err != nil {
		return out, fmt.Errorf("load thread %s: %w", in.Thread, err)
	}
	return out, nil
}

// wanted is the view whose rows are read; nil is that of the checkpoint.
func wanted(in step.LoadThreadInput) *thread.Cursor {
	view := in.Cursor.Model()
	if len(in.Only) > 0 {
		view = thread.Cursor{Segments: in.Cursor.Segments}
	} else if !in.Carried {
		return nil
	}
	return &view
}

// digestsOf are the digests of rows, or of those alone that are named.
func digestsOf(plan *agent.Plan, rows []store.Row, only []string) ([]thread.Digest, error) {
	var digests []thread.Digest
	for i := range rows {
		if len(only) > 0 && !slices.Contains(only, rows[i].ID) {
			continue
		}
		d, err := rowDigest(plan, &rows[i])
		if err != nil {
			return nil, err
		}
		if i < len(rows)-textsWanted {
			d.Text = ""
			for k := range d.Calls {
				d.Calls[k].Args = nil
			}
		}
		digests = append(digests, d)
	}
	return newest(digests)
}

// digestBytes bounds the digests that a thread is loaded with: Temporal takes no
// more than 2 MB from a step. Of a longer transcript the workflow knows the newest
// messages, while the model is sent all that is in view.
const digestBytes = 1 << 20

// newest are the last digests that fit.
func newest(digests []thread.Digest) ([]thread.Digest, error) {
	size, from := 0, len(digests)
	for from > 0 {
		data, err := json.Marshal(digests[from-1])
		if err != nil {
			return nil, fmt.Errorf("encode the digest of message %s: %w", digests[from-1].ID, err)
		}
		if size += len(data) + 1; size > digestBytes {
			break
		}
		from--
	}
	kept := digests[from:]
	if from > 0 && digests[0].Name == thread.NameSummary {
		kept = append([]thread.Digest{digests[0]}, kept...) // what it tells of is not in view any more
	}
	return kept, nil
}

// running lists the runs of a thread that have started and not ended, oldest
// first. One that the thread made itself has no submission; its messages are in
// the transcript since it started.
func (a *Activities) running(ctx context.Context, threadID string) ([]step.RunningRun, error) {
	runs, err := a.o.Store.ListRuns(ctx, threadID, store.RunQuery{Status: thread.RunRunning, Limit: 1000})
	if err != nil {
		return nil, err
	}
	slices.Reverse(runs)
	out := make([]step.RunningRun, 0, len(runs))
	for _, run := range runs {
		submit := step.SubmitRun{RunID: run.ID, Options: run.Options, Multitask: thread.MultitaskEnqueue}
		if len(run.Submit) > 0 {
			if err := json.Unmarshal(run.Submit, &submit); err != nil {
				return nil, fmt.Errorf("read the submission of run %s: %w", run.ID, err)
			}
		}
		out = append(out, step.RunningRun{SubmitRun: submit, LoopVersion: run.LoopVersion})
	}
	return out, nil
}

// textsWanted is how many of the newest digests keep their text.
const textsWanted = 20

func (a *Activities) planOfCheckpoint(ctx context.Context, c *store.Checkpoint) (*agent.Plan, error) {
	var header step.CheckpointHeader
	if err := json.Unmarshal(c.Data, &header); err != nil {
		return nil, fmt.Errorf("read checkpoint %s: %w", c.ID, err)
	}
	if header.PlanHash == "" {
		return nil, nil
	}
	plan, err := a.plan(ctx, header.PlanHash)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("plan %s is missing: %w", header.PlanHash, err)
	}
	return plan, err
}

// rowDigest is the digest that the step which made a row returned; of a row
// that no step made, or that was revised since, it is made anew.
func rowDigest(plan *agent.Plan, row *store.Row) (thread.Digest, error) {
	if row.Rev == 0 && len(row.Digest) > 0 {
		var kept struct {
			Message *thread.Digest `json:"message"`
		}
		if err := json.Unmarshal(row.Digest, &kept); err != nil {
			return thread.Digest{}, fmt.Errorf("read the digest of message %s: %w", row.ID, err)
		}
		if d := kept.Message; d != nil {
			if d.Tokens == 0 && row.Message.ID != "" { // an older version did not weigh
				d.Tokens, d.Size = row.Message.Weight(), len(row.Message.Content.String())
			}
			return *d, nil
		}
	}
	return plan.DigestOf(&row.Message, row.Pos), nil
}
