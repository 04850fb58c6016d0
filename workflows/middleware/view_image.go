package middleware

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// ToolViewImage is the tool by which a model asks to see an image.
const ToolViewImage = "view_image"

// ViewImage shows the images that a model has asked for, to the one call that
// follows (spec 4.23, D13). The state keeps where they lie; the bytes are read
// when the request is made and go nowhere else: not into the transcript, the
// event log or workflow history.
type ViewImage struct{ Base }

// Name is ViewImage.
func (*ViewImage) Name() string { return NameViewImage }

// EditRequest adds the images behind the results of the calls that asked.
func (*ViewImage) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	if !asksForImages(run.Messages) || len(run.State.ViewedImages) == 0 {
		return nil
	}
	edit := agent.Edit{Op: agent.EditImages, Role: thread.RoleHuman, Name: "view_image"}
	for _, path := range workflow.DeterministicKeys(run.State.ViewedImages) {
		edit.Images = append(edit.Images, agent.ShownImage{Path: path, Image: run.State.ViewedImages[path]})
	}
	request.Edits = append(request.Edits, edit)
	return nil
}

// AfterModel forgets the images that the model has seen now.
func (*ViewImage) AfterModel(_ workflow.Context, run *Run, _ *ModelReply) (Update, error) {
	if len(run.State.ViewedImages) == 0 {
		return Update{}, nil
	}
	return Update{State: thread.StateUpdate{ViewedImages: &map[string]thread.ViewedImage{}}}, nil
}

// asksForImages reports whether the newest message of the model asked for
// images and has all its results.
func asksForImages(messages []thread.Digest) bool {
	answered := 0
	for i := len(messages) - 1; i >= 0; i-- {
		switch d := &messages[i]; {
		case d.Role == thread.RoleTool:
			answered++
		case d.Role == thread.RoleAI && d.Empty && len(d.Calls) == 0:
			// An answer without anything in it is asked for again: with the images.
		case d.Role == thread.RoleAI:
			return answered >= len(d.Calls) &&
				slices.ContainsFunc(d.Calls, func(c thread.CallDigest) bool { return c.Name == ToolViewImage })
		}
	}
	return false
}
