package middleware

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// SystemMessageCoalescing joins the system messages of a transcript into one that
// stands first (spec 4.26, A21). The framework makes none; clients and imports do.
type SystemMessageCoalescing struct{ Base }

// Name is SystemMessageCoalescing.
func (*SystemMessageCoalescing) Name() string { return NameSystemMessageCoalescing }

// EditRequest joins them if there is one.
func (*SystemMessageCoalescing) EditRequest(_ workflow.Context, run *Run, request *Request) error {
	if slices.ContainsFunc(run.Messages, func(d thread.Digest) bool { return d.Role == thread.RoleSystem }) {
		request.Edits = append(request.Edits, agent.Edit{Op: agent.EditCoalesce})
	}
	return nil
}
