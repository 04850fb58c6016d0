package middleware

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/thread"
)

// Uploads keeps the files of the current message in the state (spec 4.5). The
// model reads of them in the message's context, which the start of the run has
// written.
type Uploads struct{ Base }

// Name is Uploads.
func (*Uploads) Name() string { return NameUploads }

// BeforeRun replaces the list; a message without files clears it, since what is
// in the list counts as not uploaded before.
func (*Uploads) BeforeRun(_ workflow.Context, run *Run) (Update, error) {
	files := slices.Clone(run.Intake.Uploads)
	if slices.Equal(files, run.State.UploadedFiles) {
		return Update{}, nil
	}
	if files == nil {
		files = []thread.UploadedFile{}
	}
	return Update{State: thread.StateUpdate{UploadedFiles: &files}}, nil
}
