package model

import (
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// Finish reasons that mean something here; the others are passed on.
const (
	finishStop      = string(openai.FinishReasonStop)
	finishToolCalls = string(openai.FinishReasonToolCalls)
)

// isSafety reports whether an answer was ended by a content filter, in the
// words of any provider (B13).
func isSafety(reason string) bool {
	switch reason = strings.ToLower(reason); reason {
	case string(openai.FinishReasonContentFilter), "content_filtered", "refusal", "safety", "sensitive", "blocklist",
		"prohibited_content", "spii", "recitation", "guardrail_intervened":
		return true
	}
	return strings.HasPrefix(reason, "image_")
}

// isLength reports whether an answer was cut by the output limit (B14).
func isLength(reason string) bool {
	switch strings.ToLower(reason) {
	case string(openai.FinishReasonLength), "max_tokens", "max_output_tokens", "max_length", "token_limit":
		return true
	}
	return false
}

// failedFinish is the error behind a finish reason that is one, nil otherwise.
func failedFinish(reason string) error {
	switch reason {
	case "error", "network_error", "abort", "aborted", "cancelled":
		return newError(ClassTransient, "the provider broke off the answer (finish reason "+reason+")")
	case "insufficient_system_resource", "overloaded":
		return newError(ClassBusy, "the provider ran out of resources in the middle of the answer (finish reason "+reason+")")
	}
	return nil
}

// Explanations that go into messages.
const (
	safetyNotice = "The provider's content filter ended this answer (%s: %s)."
	// safetyDropped follows when there were calls.
	safetyDropped = " The tool calls it had begun (%s) were incomplete and were not run."
	notExecuted   = "Not executed: "
	lengthReason  = notExecuted + "the answer reached the output limit while this call was being written, so its arguments are " +
		"not complete. Nothing was changed. Send less in one call: write a large file in pieces, the first with write_file and " +
		"the others with append, or make a small edit instead."
	namelessReason = notExecuted + "the call has no tool name. Use one of the available tools, by its exact name."
)
