package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/thread"
	"deerflow/internal/uploads"
)

// Tool is something that a model can call. It holds no state of a call and may
// be used by several goroutines at once.
type Tool interface {
	// Spec says what the model sees and how the loop has to treat the tool.
	Spec() agent.ToolSpec
	// Call runs the tool. The error is the context's or wraps
	// [sandbox.ErrUnavailable]; everything else that goes wrong is a result. A
	// result that comes with an error holds what there was so far, such as the
	// output of a command that was stopped.
	Call(ctx context.Context, c Call) (Result, error)
}

// Call is one call of a tool.
type Call struct {
	// Args is the JSON object that the model sent; nothing at all means {}.
	Args json.RawMessage
	Env  Env
}

// Env is what a call may know and use. None of it is the model's to choose.
type Env struct {
	User   string
	Thread string
	Run    string
	CallID string
	// MessageID is the id of the message that the result becomes. It is the same
	// in every attempt of the call, so writes use it to happen once.
	MessageID string
	Sandbox   sandbox.Sandbox
	// Uploads opens the upload directory of the thread; one that is not there is
	// fs.ErrNotExist. Nil: there are none.
	Uploads func() (*uploads.Directory, error)
	// CurrentUploads are the names of the files that came with the message that is
	// being answered.
	CurrentUploads []string
	Limits         Limits
	// CommandEnv is set in commands, such as the secrets of an active skill. Long
	// values are taken out of the output.
	CommandEnv map[string]string
	// CheckRead: a file that exists is only changed in the state that Seen, the
	// hash of the whole file, names; an empty Seen names none.
	CheckRead bool
	Seen      string
	// NoClarification: nobody is there to answer.
	NoClarification bool
}

// Result is what a call gives back.
type Result struct {
	// Text is for the model. A text of an error begins with "Error:", or it is a
	// JSON object that says it under "error".
	Text  string
	Error bool
	// Artifact is for clients, beside the text.
	Artifact json.RawMessage
	State    thread.StateUpdate
	// Interrupt is a question: the loop waits for a person.
	Interrupt *thread.Interrupt
	// Kwargs are set in the message's additional_kwargs.
	Kwargs map[string]any
	// Sources are the pages that the call brought.
	Sources []thread.Source
}

// KeyMeta holds, in the additional_kwargs of a tool message, the [Meta] of the
// result.
const KeyMeta = "deerflow_tool_meta"

func text(s string) Result { return Result{Text: s} }

// failure is a result that tells the model what went wrong; the text gets the
// prefix that readers of results look for.
func failure(format string, args ...any) Result {
	return Result{Text: "Error: " + fmt.Sprintf(format, args...), Error: true}
}

func (r *Result) setKwarg(key string, value any) {
	if r.Kwargs == nil {
		r.Kwargs = map[string]any{}
	}
	r.Kwargs[key] = value
}
