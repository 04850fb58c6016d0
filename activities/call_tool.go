package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"deerflow/internal/agent"
	"deerflow/internal/failpoint"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/tools"
	"deerflow/internal/uploads"
)

// CallTool runs one tool call and stores its result, or stores the reply that
// takes its place. A failing tool is a result; only lost infrastructure is an
// error of the activity.
func (a *Activities) CallTool(parent context.Context, in step.CallToolInput) (step.CallToolResult, error) {
	var out step.CallToolResult
	ctx, done, err := alive(parent)
	if err != nil {
		return out, err
	}
	defer done()
	if err := a.ride(ctx, in.Commit); err != nil {
		return out, err
	}
	doing := fmt.Sprintf("tool %s of run %s", in.Name, in.Run)
	plan, err := a.plan(ctx, in.PlanHash)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	spec, _ := plan.Spec(in.Name)
	unsafe := spec.Class == agent.ClassUnsafe && in.Reply == nil
	claim, place, err := a.claimCall(ctx, in, unsafe, spec.Shell != "")
	if err != nil {
		return out, border(ctx, doing, err)
	}
	if claim.Done != nil {
		return toolResult(doing, claim.Done)
	}
	a.logCommand(ctx, in, spec)
	failpoint.Here(failpoint.ToolBegun, in.Thread)
	result, err := a.outcome(ctx, in, claim.MayHaveRun, place)
	var row store.NewRow
	if err == nil {
		row = a.beside(ctx, in, spec, &result)
		result, err = a.obey(ctx, in, plan, result)
	}
	if err != nil {
		if ctx.Err() != nil && in.Reply == nil && changesFiles(spec) {
			a.changedInVain(ctx, in.Ref)
		}
		return out, border(ctx, doing, err)
	}
	failpoint.Here(failpoint.ToolDone, in.Thread)
	owner := store.Owner{Ref: in.Ref, MessageID: in.MessageID, Claim: claim.Claim}
	return a.finishTool(ctx, in, owner, row, result)
}

// claimCall claims a call that must not be made twice, and gets its sandbox
// before: one that cannot be had is no reason to say that the tool may have run, unless
// an earlier attempt has claimed the call. For the others it is enough that a later
// attempt finds the row of an earlier one.
func (a *Activities) claimCall(ctx context.Context, in step.CallToolInput, unsafe, command bool) (store.ClaimResult, *workplace, error) {
	if unsafe {
		place, err := a.readyWorkplace(ctx, in, command)
		if err != nil {
			return store.ClaimResult{}, nil, err
		}
		claim, err := a.o.Store.Claim(ctx, store.Claim{Ref: in.Ref, MessageID: in.MessageID, Unsafe: true})
		return claim, place, err
	}
	if activity.GetInfo(ctx).Attempt == 1 {
		return store.ClaimResult{}, nil, nil
	}
	row, err := a.o.Store.GetMessage(ctx, in.Thread, in.MessageID)
	if errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrThreadGone) {
		return store.ClaimResult{}, nil, nil
	}
	return store.ClaimResult{Done: &row}, nil, err
}

// outcome is the result of a call: of the tool, or what takes its place. place is
// nil when the sandbox has not been asked for yet.
func (a *Activities) outcome(ctx context.Context, in step.CallToolInput, mayHaveRun bool, place *workplace) (tools.Result, error) {
	switch {
	case in.Reply != nil:
		return stamped(in.Name, tools.SourceToolReturn, tools.Result{Text: in.Reply.Text, Error: in.Reply.Error}), nil
	case mayHaveRun:
		return stamped(in.Name, tools.SourceException, tools.Result{Error: true, Text: fmt.Sprintf(
			"Error: the worker was lost while %s ran. It may have run, in full or in part, and it was not run again: check before you repeat it.", in.Name)}), nil
	}
	call, err := a.callOf(ctx, in)
	if err != nil {
		return tools.Result{}, err
	}
	cfg := a.o.Config()
	set, err := a.toolset(cfg, everyTool)
	if err != nil {
		return tools.Result{}, err
	}
	tool, ok := set.Get(in.Name)
	if !ok {
		return stamped(in.Name, tools.SourceToolReturn, tools.Result{
			Error: true, Text: fmt.Sprintf("Error: tool %s is not available any more. Choose another one.", in.Name),
		}), nil
	}
	if place == nil {
		if place, err = a.readyWorkplace(ctx, in, false); err != nil {
			return tools.Result{}, err
		}
	}
	if place.refusal != "" {
		return stamped(in.Name, tools.SourceException, tools.Result{Error: true, Text: place.refusal}), nil
	}
	limits := limits(cfg)
	if in.Rules.Budget {
		limits.ResultBytes = largestResult
	}
	result, err := tools.Run(ctx, tool, tools.Call{Args: call.Args, Env: tools.Env{
		User: in.User, Thread: in.Thread, Run: in.Run, CallID: in.Call, MessageID: in.MessageID, Sandbox: place.box,
		Limits: limits, CheckRead: in.Rules.CheckRead, Seen: in.Rules.Seen,
		Uploads:        func() (*uploads.Directory, error) { return a.uploadsOf(in.User, in.Thread) },
		CurrentUploads: a.currentUploads(ctx, in),
	}})
	if err != nil {
		return tools.Result{}, err
	}
	if skill := agent.SkillRead(in.Name, call.Args, result.Text, cfg.Summarization.SkillFileReadToolNames); skill != nil && !result.Error {
		skill.LoadedAt = time.Now().UTC().Format(time.RFC3339)
		result.State.SkillContext = append(result.State.SkillContext, *skill)
	}
	place.tell(&result)
	return result, nil
}

// stamped is a result that no tool made, with what it means for the loop.
func stamped(tool, source string, r tools.Result) tools.Result {
	r.Stamp(tool, source)
	return r
}

// callOf reads the call, with its arguments, from the message that asks for it.
func (a *Activities) callOf(ctx context.Context, in step.CallToolInput) (thread.ToolCall, error) {
	rows, err := a.o.Store.Messages(ctx, in.Thread, thread.Cursor{Segments: []thread.Segment{{From: in.AskerPos, To: in.AskerPos + 1}}})
	if err != nil {
		return thread.ToolCall{}, fmt.Errorf("read the message that asks for call %s: %w", in.Call, err)
	}
	if len(rows) != 1 || rows[0].ID != in.Asker {
		return thread.ToolCall{}, fmt.Errorf("message %s, which asks for call %s, is not at position %d", in.Asker, in.Call, in.AskerPos)
	}
	call, invalid, ok := rows[0].Message.CallAt(in.Position)
	if !ok || invalid != nil {
		return thread.ToolCall{}, fmt.Errorf("message %s has no call at position %d", in.Asker, in.Position)
	}
	return call, nil
}

// finishTool stores a result together with what the call leaves beside it.
func (a *Activities) finishTool(ctx context.Context, in step.CallToolInput, owner store.Owner, kept store.NewRow, result tools.Result) (step.CallToolResult, error) {
	doing := "store the result of " + in.Name
	status := thread.ToolSuccess
	if result.Error {
		status = thread.ToolError
	}
	message := thread.ToolResult(in.MessageID, thread.ToolCall{Name: in.Name, ID: in.Call}, status, result.Text)
	message.Artifact = result.Artifact
	for key, value := range result.Kwargs {
		message.SetKwarg(key, value)
	}
	out := step.CallToolResult{Message: message.Digest(in.Pos), State: result.State, Interrupt: result.Interrupt}
	var err error
	if kept.Digest, err = json.Marshal(out); err != nil {
		return out, fmt.Errorf("%s: %w", doing, err)
	}
	kept.Pos, kept.Message = in.Pos, message
	row, err := a.finish(ctx, owner, kept)
	if err != nil {
		return out, border(ctx, doing, err)
	}
	a.told(in.Ref, kept.Changes)
	failpoint.Here(failpoint.ToolStored, in.Thread)
	return toolResult(doing, &row)
}

// toolResult is what the row holds.
func toolResult(doing string, row *store.Row) (step.CallToolResult, error) {
	var out step.CallToolResult
	if len(row.Digest) == 0 {
		out.Message = row.Message.Digest(row.Pos)
		return out, nil
	}
	if err := json.Unmarshal(row.Digest, &out); err != nil {
		return out, fmt.Errorf("%s: read what message %s returned: %w", doing, row.ID, err)
	}
	return out, nil
}
