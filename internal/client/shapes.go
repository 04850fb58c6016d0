package client

import (
	"encoding/json"
	"time"

	"deerflow/internal/thread"
)

// Health is what a server says of itself.
type Health struct {
	Status  string            `json:"status"` // healthy or unhealthy
	Version string            `json:"version"`
	Detail  string            `json:"detail"` // which part is away, and why
	Parts   map[string]string `json:"parts"`  // "ok", or what is wrong with it
}

// Thread is a conversation.
type Thread struct {
	ID         string                        `json:"thread_id"`
	Status     thread.Status                 `json:"status"`
	Metadata   map[string]any                `json:"metadata"`
	Values     Values                        `json:"values"` // in lists only the title
	Interrupts map[string][]thread.Interrupt `json:"interrupts"`
	Error      string                        `json:"error"`
	CreatedAt  time.Time                     `json:"created_at"`
	UpdatedAt  time.Time                     `json:"updated_at"`
}

// Questions are what the thread waits for, in order.
func (t *Thread) Questions() []thread.Interrupt {
	var all []thread.Interrupt
	for _, list := range t.Interrupts {
		all = append(all, list...)
	}
	return all
}

// Run is one submission to a thread.
type Run struct {
	ID           string           `json:"run_id"`
	ThreadID     string           `json:"thread_id"`
	AssistantID  string           `json:"assistant_id"`
	Status       thread.RunStatus `json:"status"`
	StopReason   string           `json:"stop_reason"`
	Error        string           `json:"error"`
	InputTokens  int              `json:"total_input_tokens"`
	OutputTokens int              `json:"total_output_tokens"`
	TotalTokens  int              `json:"total_tokens"`
	ModelCalls   int              `json:"llm_call_count"`
	CreatedAt    time.Time        `json:"created_at"`
	UpdatedAt    time.Time        `json:"updated_at"`
	Citations    *Citations       `json:"citations,omitempty"` // nil when nothing was cited
}

// Values are the channels of a thread that this client knows.
type Values struct {
	Title     string           `json:"title"`
	Artifacts []string         `json:"artifacts"` // virtual paths
	Messages  []thread.Message `json:"messages"`
}

// State is the head of a thread.
type State struct {
	Values       Values    `json:"values"`
	Next         []string  `json:"next"` // empty for a thread that has nothing to do
	Tasks        []Task    `json:"tasks"`
	CheckpointID string    `json:"checkpoint_id"`
	CreatedAt    time.Time `json:"created_at"`
}

// Questions are what the thread waits for, in order.
func (s *State) Questions() []thread.Interrupt {
	var all []thread.Interrupt
	for _, t := range s.Tasks {
		all = append(all, t.Interrupts...)
	}
	return all
}

// Task is something that a thread would do next.
type Task struct {
	ID         string             `json:"id"`
	Name       string             `json:"name"`
	Error      string             `json:"error"`
	Interrupts []thread.Interrupt `json:"interrupts"`
}

// File is an uploaded file.
type File struct {
	Name             string `json:"filename"`
	OriginalName     string `json:"original_filename"` // "" when it was kept
	Size             int64  `json:"size"`
	VirtualPath      string `json:"virtual_path"`
	ModifiedAt       string `json:"modified"`
	ArtifactLocation string `json:"artifact_url"`
	TextName         string `json:"markdown_file"`      // of the Markdown text of a document, "" for none
	TextWarning      string `json:"conversion_warning"` // what to know of that text
	NoText           string `json:"conversion_error"`   // why a document has none
}

// Reference is how a message names an uploaded file, for the key "files" of its
// additional_kwargs.
func (f *File) Reference() map[string]any {
	ref := map[string]any{"filename": f.Name, "size": f.Size, "path": f.VirtualPath, "status": "uploaded"}
	if f.TextName != "" {
		ref["markdown_file"] = f.TextName
	}
	return ref
}

// Frame is one event of a stream.
type Frame struct {
	ID    string // place in the stream; "" for frames that have none
	Event string // metadata, values, updates, messages, custom, error, gap, end
	Data  json.RawMessage
}

// RunRequest starts a run. Either Messages or Resume is set.
type RunRequest struct {
	AssistantID string // "" is the lead agent
	Messages    []thread.Message
	Resume      any            // the answer to a question: a text, or a map from their ids
	Context     map[string]any // model_name, thinking_enabled, agent_name, ...
	Metadata    map[string]any
	// RecursionLimit is how many turns the run may take; 0 leaves it to the
	// server.
	RecursionLimit int
	Modes          []string // of streams; messages-tuple, values, updates and custom when nil
	Multitask      thread.Multitask
	// CreateThread makes the thread if there is none.
	CreateThread bool
	// CancelOnDisconnect ends the run when its stream is dropped.
	CancelOnDisconnect bool
	// Key makes a repeat harmless: the same key gives the same run. "" takes a
	// new one.
	Key string
}

// MarshalJSON writes the body that the API wants.
func (r RunRequest) MarshalJSON() ([]byte, error) {
	body := map[string]any{"stream_mode": r.modes(), "on_disconnect": "continue"}
	set := func(key string, value any, given bool) {
		if given {
			body[key] = value
		}
	}
	set("assistant_id", r.AssistantID, r.AssistantID != "")
	set("input", map[string]any{"messages": r.Messages}, len(r.Messages) > 0)
	set("command", map[string]any{"resume": r.Resume}, r.Resume != nil)
	set("context", r.Context, len(r.Context) > 0)
	set("metadata", r.Metadata, len(r.Metadata) > 0)
	set("config", map[string]any{"recursion_limit": r.RecursionLimit}, r.RecursionLimit > 0)
	set("multitask_strategy", r.Multitask, r.Multitask != "")
	set("if_not_exists", "create", r.CreateThread)
	set("on_disconnect", "cancel", r.CancelOnDisconnect)
	return json.Marshal(body)
}

func (r *RunRequest) modes() []string {
	if r.Modes == nil {
		return []string{"messages-tuple", "values", "updates", "custom"}
	}
	return r.Modes
}
