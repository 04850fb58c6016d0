package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/workflows/middleware"
)

// sideSteps are the activities that middlewares ask for.
type sideSteps struct{ c *conversation }

// Summarize compacts a part of the transcript.
func (s sideSteps) Summarize(ctx workflow.Context, in step.SummarizeInput) (step.SummarizeResult, error) {
	c, l := s.c, s.c.st.Loop
	if err := c.board(ctx); err != nil {
		return step.SummarizeResult{}, err
	}
	l.Step++
	in.Ref, in.PlanHash, in.Commit = c.ref(l.Step), l.PlanHash, c.st.Pending
	in.MessageID, in.Pos = thread.MessageID(l.RunID, l.Step), c.position()
	in.Cursor = c.withUnknown(in.Cursor)
	out, err := c.summarize(ctx, in)
	if err == nil {
		c.st.Pending = nil // it rode on the activity
	}
	return out, err
}

func (c *conversation) summarize(ctx workflow.Context, in step.SummarizeInput) (step.SummarizeResult, error) {
	var out step.SummarizeResult
	err := c.activity(sideOptions(ctx, "compact the conversation"), step.Summarize, in, &out)
	return out, err
}

// MakeTitle asks a model for a title.
func (s sideSteps) MakeTitle(ctx workflow.Context, in step.MakeTitleInput) workflow.Future {
	c, l := s.c, s.c.st.Loop
	l.Step++
	in.Ref, in.PlanHash = c.ref(l.Step), l.PlanHash
	return workflow.ExecuteActivity(sideOptions(ctx, "make a title"), step.MakeTitle, in)
}

// sideTimeout bounds a call on the side.
const sideTimeout = 2 * time.Minute

// sideOptions: a model is called on the side; few attempts, since there is a way
// without.
func sideOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: sideTimeout,
		HeartbeatTimeout:    heartbeat,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second, MaximumAttempts: step.SideAttempts,
		},
	})
}

// add puts a small message of the framework at the end of the transcript.
func (c *conversation) add(m thread.Message) {
	l := c.st.Loop
	l.Step++
	m.ID = thread.MessageID(l.RunID, l.Step)
	pos := c.position()
	c.fresh = append(c.fresh, step.NewMessage{Pos: pos, Message: m})
	c.take(m.Digest(pos))
}

// withUnknown adds to rows that are compacted those before them of which the
// workflow has no digests: of a very long transcript it knows the newest part,
// and what stands before the cut leaves the view.
func (c *conversation) withUnknown(old thread.Cursor) thread.Cursor {
	known := c.digests
	view := c.st.Cursor.Model().Segments
	if k := c.st.Cursor.Compacted; k != nil {
		view = view[1:]
		if len(known) > 0 && known[0].Pos == k.Summary {
			known = known[1:]
		}
	}
	if len(known) == 0 {
		return old
	}
	var all thread.Cursor
	for _, s := range view {
		if s.From < known[0].Pos {
			all.Segments = append(all.Segments, thread.Segment{From: s.From, To: min(s.To, known[0].Pos)})
		}
	}
	all.Segments = append(all.Segments, old.Segments...)
	return all
}

// knows reports whether a message is in view.
func (c *conversation) knows(id string) bool {
	return slices.ContainsFunc(c.digests, func(d thread.Digest) bool { return d.ID == id })
}

// compact leaves out of the model's view what was summarised. The rows stay
// listed.
func (c *conversation) compact(k *middleware.Compaction) {
	before := c.st.Cursor.Compacted
	after := &thread.Compacted{Summary: k.Summary.Pos, Cut: k.Cut, Rescued: k.Rescued}
	if before != nil {
		after.Told = before.Told
	}
	kept := []thread.Digest{k.Summary}
	for _, d := range c.digests {
		if before != nil && d.Pos == before.Summary {
			continue // the new one tells it, too
		}
		stays := d.Pos >= k.Cut || slices.Contains(k.Rescued, d.Pos)
		if stays {
			kept = append(kept, d)
		}
		if d.Day != "" { // the newest counts
			after.Told = d.ID
			if stays {
				after.Told = ""
			}
		}
	}
	c.st.Cursor.Compacted, c.digests = after, kept
}
