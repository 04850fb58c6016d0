package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/workflows/middleware"
)

const lastTurn = "This is the last turn that this run may take, and no tool can be called any more. Answer now from what you know: what was found, what is missing, how one could go on."

// turns takes turns until the model is done, a question is open, or the run is
// stopped.
func (c *conversation) turns(ctx workflow.Context) outcome {
	l := c.st.Loop
	for {
		if ctx.Err() != nil {
			return outcome{err: ctx.Err()}
		}
		// At least one turn is taken, however large what was loaded is: a thread
		// must not continue as new for ever.
		if c.turned && c.grown(ctx) {
			return outcome{renew: true}
		}
		c.turned = true
		if err := c.openTurn(ctx); err != nil {
			return outcome{err: err}
		}
		out, more := c.turn(ctx, l.Turn >= l.Plan.MaxTurns)
		if !more {
			return out
		}
		if err := c.endTurn(ctx); err != nil {
			return outcome{err: err}
		}
	}
}

// turn is one model call and the tools it asks for. It reports true when the
// model has to be called again.
func (c *conversation) turn(ctx workflow.Context, final bool) (outcome, bool) {
	l := c.st.Loop
	view := c.view()
	if err := c.chain.BeforeModel(ctx, view, view.Apply); err != nil {
		return outcome{err: err}, false
	}
	if err := c.board(ctx); err != nil {
		return outcome{err: err}, false
	}
	request, err := c.chain.Request(ctx, c.view())
	if err != nil {
		return outcome{err: err}, false
	}
	if final {
		request.NoTools = true
		request.Append("turn_limit", lastTurn)
		l.StopReason = thread.StopTurnCapped
	}
	l.Turn++
	reply, seal, err := c.model(ctx, request)
	if err != nil {
		return outcome{err: err}, false
	}
	if reply.Fallback != nil {
		return outcome{fallback: seal}, false
	}
	if final {
		return outcome{err: c.concludeAtLimit(ctx, reply.Message)}, false
	}
	view = c.view()
	jump, err := c.chain.AfterModel(ctx, view, &reply, view.Apply)
	if err != nil || jump == step.GotoEnd {
		return outcome{err: err}, false
	}
	if jump == step.GotoModel {
		return outcome{}, true
	}
	return c.act(ctx, reply.Message)
}

// concludeAtLimit drops the calls of a model that asks for tools although none
// was offered, and says what happened when it gave no text.
func (c *conversation) concludeAtLimit(ctx workflow.Context, m thread.Digest) error {
	if len(m.Calls) == 0 && !m.Empty {
		return nil
	}
	return c.takeUpdate(ctx, middleware.Update{Revisions: []thread.Revision{{
		MessageID: m.ID, StripCalls: true, AppendText: "The turn limit of this run is reached. Send a message to go on.",
	}}})
}

// act runs the tools that a message asks for.
func (c *conversation) act(ctx workflow.Context, m thread.Digest) (outcome, bool) {
	if len(m.Calls) == 0 {
		return outcome{}, false
	}
	replies, err := c.tools(ctx, m)
	if err != nil {
		return outcome{err: err}, false
	}
	var waits []thread.Interrupt
	end := false
	for _, r := range replies {
		if r.Wait {
			waits = append(waits, *r.Interrupt)
		}
		end = end || r.Goto == step.GotoEnd
	}
	return outcome{interrupts: waits}, len(waits) == 0 && !end
}

// model makes the model call of a turn. A call that failed for good comes back
// with its fallback, and the seal that stores it.
func (c *conversation) model(ctx workflow.Context, request *middleware.Request) (middleware.ModelReply, *step.Seal, error) {
	l := c.st.Loop
	l.Step++
	f := flight{id: thread.MessageID(l.RunID, l.Step), pos: c.position(), stream: true}
	in := step.CallModelInput{
		Ref: c.ref(l.Step), MessageID: f.id, Pos: f.pos, Turn: l.Turn,
		PlanHash: l.PlanHash, Cursor: c.st.Cursor.Model(), Commit: c.st.Pending,
	}
	c.flights = append(c.flights, f)
	call := func(ctx workflow.Context, request *middleware.Request) (middleware.ModelReply, error) {
		in.Edits, in.NoTools, in.Hidden, in.Attribute = request.Edits, request.NoTools, request.Hidden, request.Attribute
		in.Cursor = c.st.Cursor.Model() // a compaction may have moved it
		var reply middleware.ModelReply
		err := c.activity(modelOptions(ctx, l), step.CallModel, in, &reply.CallModelResult)
		return reply, err
	}
	reply, err := c.chain.Model(ctx, c.view(), request, call)
	if err != nil {
		return reply, nil, err // the flight stays: it is sealed at the end
	}
	c.land(f.id)
	if reply.Fallback != nil {
		reply.Fallback.ID = f.id
		return reply, &step.Seal{MessageID: f.id, Pos: f.pos, Fallback: *reply.Fallback}, nil
	}
	c.st.Pending = nil // it rode on the call
	l.ModelCalls++
	c.spend(reply.Usage)
	c.take(reply.Message)
	return reply, nil, nil
}

// tools runs all calls of a message together and applies the results in the
// order of the calls.
func (c *conversation) tools(ctx workflow.Context, asker thread.Digest) ([]middleware.ToolReply, error) {
	replies := make([]middleware.ToolReply, len(asker.Calls))
	errs := make([]error, len(asker.Calls))
	flown := make([]flight, len(asker.Calls))
	view := c.view()
	done := workflow.NewWaitGroup(ctx)
	for i, digest := range asker.Calls {
		call, in, f := c.dispatch(asker, i, digest)
		flown[i] = f
		c.flights = append(c.flights, f)
		done.Add(1)
		workflow.GoNamed(ctx, digest.Name, func(ctx workflow.Context) {
			defer done.Done()
			replies[i], errs[i] = c.chain.Tool(ctx, view, call, c.toolHandler(in))
		})
	}
	done.Wait(ctx)
	var failed error
	for i, reply := range replies {
		if errs[i] != nil {
			failed = errs[i]
			continue
		}
		c.land(flown[i].id)
		c.take(reply.Message)
		if u := reply.Usage; u != nil {
			c.spend(*u)
		}
		if err := c.apply(reply.State); err != nil {
			failed = fmt.Errorf("take the result of %s: %w", asker.Calls[i].Name, err)
		}
	}
	return replies, failed
}

// dispatch describes one call: for the middlewares, for the activity, and what
// stands in the transcript if it is stopped.
func (c *conversation) dispatch(asker thread.Digest, i int, digest thread.CallDigest) (*middleware.ToolCall, step.CallToolInput, flight) {
	l := c.st.Loop
	l.Step++
	tool, known := l.Plan.Tool(digest.Name)
	call := &middleware.ToolCall{CallDigest: digest, Asker: asker.ID, Position: i, Tool: tool, Known: known}
	for _, c := range asker.Calls {
		if c.Name == digest.Name {
			call.Alike++
		}
	}
	id := thread.MessageID(l.RunID, l.Step)
	if digest.Name == middleware.ToolAskClarification {
		id = thread.ClarificationID(digest.ID)
	}
	f := flight{id: id, pos: c.position(), fallback: thread.ToolResult(id,
		thread.ToolCall{Name: digest.Name, ID: digest.ID}, thread.ToolError,
		"Error: stopped by the user before it ended. It may have run in part.")}
	return call, step.CallToolInput{
		Ref: c.ref(l.Step), MessageID: id, Pos: f.pos, Asker: asker.ID, AskerPos: asker.Pos, Position: i,
		Call: digest.ID, Name: digest.Name, PlanHash: l.PlanHash,
	}, f
}

func (c *conversation) toolHandler(in step.CallToolInput) middleware.ToolHandler {
	return func(ctx workflow.Context, call *middleware.ToolCall, reply *step.Reply) (middleware.ToolReply, error) {
		in.Reply, in.Rules = reply, call.Rules
		var out middleware.ToolReply
		err := c.activity(toolOptions(ctx, call, reply), step.CallTool, in, &out.CallToolResult)
		return out, err
	}
}

// spend counts tokens, of the run and of the thread.
func (c *conversation) spend(u thread.Usage) {
	c.st.Loop.Usage = c.st.Loop.Usage.Add(u)
	c.st.Tokens += u.TotalTokens
}

func (c *conversation) land(id string) {
	for i, f := range c.flights {
		if f.id == id {
			c.flights = append(c.flights[:i:i], c.flights[i+1:]...)
			return
		}
	}
}
