package middleware

import (
	"slices"

	"go.temporal.io/sdk/workflow"
)

// remoteTools bring text from the network.
var remoteTools = []string{"web_fetch", "web_search", "image_search", "web_capture"}

// ToolResultSanitization keeps pages from speaking for the framework: tags of the
// framework in the results of web tools are escaped before the result is stored.
// Everything else stays as it is. A tool that fetches pages under another name is
// not covered.
type ToolResultSanitization struct{ Base }

// Name is ToolResultSanitization.
func (*ToolResultSanitization) Name() string { return NameToolResultSanitization }

// AroundTool asks the activity to escape the tags.
func (*ToolResultSanitization) AroundTool(ctx workflow.Context, _ *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	call.Rules.Neutralize = slices.Contains(remoteTools, call.Name)
	return next(ctx, call, nil)
}
