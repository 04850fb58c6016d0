package middleware

import (
	"slices"

	"go.temporal.io/sdk/workflow"
)

// ReadBeforeWrite lets a file that exists be changed only in the state in which
// the model has last seen it. The newest read in view counts, also one of a few
// lines; what compaction took away does not. The activity compares and writes
// under the lock of the file, so that of two changes after one read only the first
// lands, and every change has to be read again before the next. Configured by
// read_before_write.
type ReadBeforeWrite struct{ Base }

// Name is ReadBeforeWrite.
func (*ReadBeforeWrite) Name() string { return NameReadBeforeWrite }

// AroundTool tells the activity what the model has seen of the file.
func (*ReadBeforeWrite) AroundTool(ctx workflow.Context, run *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	if run.Plan.ReadBeforeWrite && call.Target != "" {
		call.Rules.CheckRead = true
		for _, d := range slices.Backward(run.Messages) {
			if d.Read != nil && d.Read.Path == call.Target {
				call.Rules.Seen = d.Read.Hash
				break
			}
		}
	}
	return next(ctx, call, nil)
}
