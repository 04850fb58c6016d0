package thread

import "encoding/json"

// Role says who a message is from. The values are LangChain's message types,
// which is what clients of the API read.
type Role string

// The roles of a message.
const (
	RoleHuman  Role = "human"
	RoleAI     Role = "ai"
	RoleTool   Role = "tool"
	RoleSystem Role = "system"
)

// Keys of [Message.AdditionalKwargs] that carry meaning.
const (
	// KeyHidden marks a message that the framework made: no page shows it and
	// it is not user text.
	KeyHidden = "hide_from_ui"
	// KeyHumanInputResponse holds the structured answer to a question.
	KeyHumanInputResponse = "human_input_response"
	// KeyReasoning holds what the model thought, as plain text.
	KeyReasoning = "reasoning_content"
	// KeyErrorFallback marks the message that stands in for a failed model call.
	KeyErrorFallback = "deerflow_error_fallback"
	// KeyErrorType, KeyErrorReason and KeyErrorDetail describe that failure.
	KeyErrorType   = "error_type"
	KeyErrorReason = "error_reason"
	KeyErrorDetail = "error_detail"
	// KeyStopped marks a message that was cut short because the user stopped
	// the run.
	KeyStopped = "stopped_by_user"
	// KeyRunID and KeyTimestamp are stamped on the human messages of a run.
	KeyRunID     = "run_id"
	KeyTimestamp = "timestamp"
	// KeyFiles lists the files that were uploaded with a human message.
	KeyFiles = "files"
	// KeyExitCode is with what code a command ended, on the result of its call; it
	// is there only for one that is not 0.
	KeyExitCode = "exit_code"
)

// NameSummary is the name of the message that holds a summary.
const NameSummary = "summary"

// KeySummary marks the row that holds the summary of compacted messages. It is
// in no segment of a cursor: models read it, nobody else does. Only the server
// writes it.
const KeySummary = "deerflow_summary"

// Summary makes the message that stands for what was compacted away.
func Summary(id, text string) Message {
	m := Human(id, text)
	m.Name = NameSummary
	m.SetKwarg(KeyHidden, true)
	m.SetKwarg(KeySummary, true)
	return m
}

// IsSummary reports whether m was made by [Summary].
func (m *Message) IsSummary() bool {
	marked, _ := m.AdditionalKwargs[KeySummary].(bool)
	return marked
}

// Message is one entry of a transcript. Its JSON is the shape that LangChain's
// model_dump writes, so the stored body is what clients read; keys that do not
// belong to the role are left out.
type Message struct {
	ID               string            `json:"id"`
	Role             Role              `json:"type"`
	Name             string            `json:"name,omitempty"`
	Content          Content           `json:"content"`
	AdditionalKwargs map[string]any    `json:"additional_kwargs"`
	ResponseMetadata map[string]any    `json:"response_metadata"`
	ToolCalls        []ToolCall        `json:"tool_calls,omitempty"`
	InvalidToolCalls []InvalidToolCall `json:"invalid_tool_calls,omitempty"`
	Usage            *Usage            `json:"usage_metadata,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
	Artifact         json.RawMessage   `json:"artifact,omitempty"`
	Status           ToolStatus        `json:"status,omitempty"`
}

// ToolCall asks for one tool with arguments that are a JSON object.
type ToolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	ID   string          `json:"id"`
	Type string          `json:"type"` // always "tool_call"
}

// InvalidToolCall is a call that cannot be run: its arguments are no JSON
// object, or it has no name. Args is the text as the model wrote it, cut to a
// readable length; Error is one sentence for the model.
type InvalidToolCall struct {
	Name  string `json:"name"`
	Args  string `json:"args"`
	ID    string `json:"id"`
	Error string `json:"error"`
	Type  string `json:"type"` // always "invalid_tool_call"
}

// ToolStatus is the outcome of a tool message.
type ToolStatus string

// The outcomes of a tool call.
const (
	ToolSuccess ToolStatus = "success"
	ToolError   ToolStatus = "error"
)

// Usage counts tokens as the provider reported them.
type Usage struct {
	InputTokens        int            `json:"input_tokens"`
	OutputTokens       int            `json:"output_tokens"`
	TotalTokens        int            `json:"total_tokens"`
	InputTokenDetails  map[string]int `json:"input_token_details,omitempty"`
	OutputTokenDetails map[string]int `json:"output_token_details,omitempty"`
}

// Add sums two counts; details are summed by key.
func (u Usage) Add(v Usage) Usage {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.TotalTokens += v.TotalTokens
	u.InputTokenDetails = addDetails(u.InputTokenDetails, v.InputTokenDetails)
	u.OutputTokenDetails = addDetails(u.OutputTokenDetails, v.OutputTokenDetails)
	return u
}

func addDetails(a, b map[string]int) map[string]int {
	if len(b) == 0 {
		return a
	}
	sum := make(map[string]int, len(a)+len(b))
	for k, n := range a {
		sum[k] = n
	}
	for k, n := range b {
		sum[k] += n
	}
	return sum
}

// CallCount is the number of calls that a message asks for, runnable or not.
func (m *Message) CallCount() int { return len(m.ToolCalls) + len(m.InvalidToolCalls) }

// CallAt gives the call at a position: runnable calls first, in the model's
// order, then the invalid ones. Positions are what ledgers key on, since a
// provider may repeat ids.
func (m *Message) CallAt(position int) (call ToolCall, invalid *InvalidToolCall, ok bool) {
	if position < 0 || position >= m.CallCount() {
		return ToolCall{}, nil, false
	}
	if position < len(m.ToolCalls) {
		return m.ToolCalls[position], nil, true
	}
	bad := m.InvalidToolCalls[position-len(m.ToolCalls)]
	return ToolCall{Name: bad.Name, ID: bad.ID, Args: json.RawMessage("{}"), Type: "tool_call"}, &bad, true
}

// Hidden reports whether the framework made this message.
func (m *Message) Hidden() bool {
	hidden, ok := m.AdditionalKwargs[KeyHidden].(bool)
	return ok && hidden
}

// Reasoning is the thinking text stored with the message, or "".
func (m *Message) Reasoning() string {
	text, _ := m.AdditionalKwargs[KeyReasoning].(string)
	return text
}

// SetKwarg sets a key of AdditionalKwargs, making the map when there is none.
func (m *Message) SetKwarg(key string, value any) {
	if m.AdditionalKwargs == nil {
		m.AdditionalKwargs = map[string]any{}
	}
	m.AdditionalKwargs[key] = value
}

// Human makes a user message.
func Human(id, text string) Message {
	return Message{ID: id, Role: RoleHuman, Content: Text(text)}
}

// ToolResult makes the tool message that answers a call.
func ToolResult(id string, call ToolCall, status ToolStatus, text string) Message {
	return Message{ID: id, Role: RoleTool, Name: call.Name, ToolCallID: call.ID, Status: status, Content: Text(text)}
}

// MarshalJSON writes an empty object, not null, for arguments that are not set,
// and the type whatever the field says: strict clients rely on both.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	type plain ToolCall
	p := plain(c)
	p.Type = "tool_call"
	if len(p.Args) == 0 || string(p.Args) == "null" {
		p.Args = json.RawMessage("{}")
	}
	return json.Marshal(p)
}

// MarshalJSON writes the type whatever the field says.
func (c InvalidToolCall) MarshalJSON() ([]byte, error) {
	type plain InvalidToolCall
	p := plain(c)
	p.Type = "invalid_tool_call"
	return json.Marshal(p)
}

// MarshalJSON writes empty objects, not nulls, for the two maps: strict clients
// index into them.
func (m Message) MarshalJSON() ([]byte, error) {
	type plain Message
	p := plain(m)
	if p.AdditionalKwargs == nil {
		p.AdditionalKwargs = map[string]any{}
	}
	if p.ResponseMetadata == nil {
		p.ResponseMetadata = map[string]any{}
	}
	return json.Marshal(p)
}
