package model

import (
	"context"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// Chatter answers requests: a provider, or the demo.
type Chatter interface {
	// Chat makes one attempt. Pieces of the answer go to emit as they come, on
	// the calling goroutine; an error from emit ends the call and is returned
	// wrapped. emit may be nil.
	//
	// Failures of the provider are an [*Error]. A context that ends closes the
	// connection at once and its error is returned wrapped.
	Chat(ctx context.Context, req Request, emit func(Delta) error) (*Response, error)
}

// Request is one model call.
type Request struct {
	// System is the static prompt; system messages of the history follow it in
	// one message (A21).
	System string
	// Messages is the history in view, in any state of repair.
	Messages []thread.Message
	// Tools may be called.
	Tools []agent.ToolSpec
	// NoTools asks for an answer without tools: they stay declared, since a
	// history with calls is refused without (V12), but none may be called.
	NoTools bool
	// Thinking and Effort are what the run asks for; a model that does not
	// support them is not told.
	Thinking bool
	Effort   string
	// KnownCallIDs reports whether the thread has seen a call id, beside those
	// in Messages; a new call with such an id gets a suffix. May be nil.
	KnownCallIDs func(id string) bool
	// Scope makes the ids unique that are made for calls without one; the same
	// in every attempt of a step, for instance run and step (A11). Empty takes
	// [Options.Scope].
	Scope string
}

// Delta is a piece of an answer. All text is valid UTF-8 and no character is
// split over two pieces.
type Delta struct {
	Text      string
	Reasoning string
	ToolCalls []ToolCallDelta
}

// ToolCallDelta is a piece of one tool call.
type ToolCallDelta struct {
	// Index counts the calls of the answer from 0, whatever the provider sent.
	Index int
	// ID and Name are set in the piece in which they became known, mostly the
	// first.
	ID   string
	Name string
	// Args is a piece of the arguments' JSON text.
	Args string
}

// Response is a complete answer.
type Response struct {
	// Message has no ID: the caller names it.
	Message thread.Message
	// FinishReason is the provider's, lower case; "stop" or "tool_calls" when
	// it ended the stream in good order without one.
	FinishReason string
	// Usage is zero when the provider reported none; Message.Usage is nil then.
	Usage thread.Usage
	// Rewritten says that the pieces handed out do not add up to the message,
	// since only its end told what its beginning was.
	Rewritten bool
}

// Keys of [thread.Message.AdditionalKwargs] and of its ResponseMetadata that
// this package writes and reads.
const (
	// KeyReasoningDetails holds structured reasoning to give back unchanged.
	KeyReasoningDetails = "reasoning_details"
	// KeyCallExtras holds, by call id, what a provider attached to a call and
	// wants back, such as a signature of its thoughts.
	KeyCallExtras = "tool_call_extra_content"
	// KeyRefusal holds the text with which a model refused.
	KeyRefusal = "refusal"
	// MetaConfigured is the configured name of the model that answered.
	MetaConfigured = "configured_model"
	// MetaFinishReason, MetaModel and MetaProvider are LangChain's names.
	MetaFinishReason = "finish_reason"
	MetaModel        = "model_name"
	MetaProvider     = "model_provider"
)
