package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"deerflow/internal/evidence"
	"deerflow/internal/thread"
)

// stateChannelNames are the channels of a thread beside its messages: a run
// cannot be started with values for them.
func stateChannelNames() []string {
	return []string{
		"title", "artifacts", "todos", "goal", "sandbox", "thread_data", "uploaded_files", "viewed_images", "promoted",
		"delegations", "skill_context", "summary_text", "background_tasks",
	}
}

// serverKeys are keys of additional_kwargs that only the server may set:
// markers by which later steps trust a message, and what the model is told beside
// its text.
func serverKeys() []string {
	return []string{
		"original_user_content", "dynamic_context_reminder", "reminder_date", "deerflow_view_image_context",
		"deerflow_tool_meta", "deerflow_read_mark", "skill_context_entry", "safety_termination", "token_usage_attribution",
		"deerflow_goal_continuation", evidence.KeyCitations, thread.KeyContext,
		thread.KeyRunID, thread.KeyTimestamp, thread.KeyErrorFallback, thread.KeyErrorType, thread.KeyErrorReason,
		thread.KeyErrorDetail, thread.KeyStopped, thread.KeySummary,
	}
}

// parseInput reads the messages of a run: those of its input or of its command.
// One that answers an interrupt by command needs none.
func parseInput(body object, c command) ([]thread.Message, error) {
	input := body.child("input")
	if input.get("messages") != nil || c.resume == nil {
		input.unsupported(stateChannelNames()...)
	}
	if err := body.err(); err != nil {
		return nil, err
	}
	messages, err := parseMessages(input.get("messages"), "body", "input", "messages")
	if err != nil {
		return nil, err
	}
	more, err := parseMessages(c.messages, "body", "command", "update")
	switch {
	case err != nil:
		return nil, err
	case c.resume != nil && len(messages) > 0:
		return nil, invalidField("value_error", "A run is started with messages or with command.resume, not with both", "body", "input")
	case len(messages) > 0 && len(more) > 0:
		return nil, invalidField("value_error", "A run is started with input or with command.update, not with both", "body", "command", "update")
	case c.resume == nil && len(messages)+len(more) == 0:
		return nil, invalidField("missing", "At least one message is needed", "body", "input", "messages")
	}
	return append(messages, more...), nil
}

// maxMessages bounds the messages of one request, and the tool calls in them:
// of each, the thread keeps a line in its history.
const maxMessages = 1000

// parseMessages reads a list of messages, one message or one text; loc is where
// it stands in the request.
func parseMessages(raw json.RawMessage, loc ...any) ([]thread.Message, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	items := []json.RawMessage{raw}
	if raw[0] == '[' {
		items = nil
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, invalidField("list_type", "Input should be a list of messages", loc...)
		}
	}
	if len(items) > maxMessages {
		return nil, fail(http.StatusRequestEntityTooLarge, "%s has %d messages, at most %d may be sent at once", dotted(loc[1:]), len(items), maxMessages)
	}
	calls := 0
	messages := make([]thread.Message, 0, len(items))
	seen := map[string]bool{}
	for i, item := range items {
		m, err := parseMessage(bytes.TrimSpace(item))
		if err == nil && seen[m.ID] {
			err = fmt.Errorf("the id %q stands twice in the input", m.ID)
		}
		if err != nil {
			return nil, fail(http.StatusBadRequest, "Invalid message at %s[%d]: %v", dotted(loc[1:]), i, err)
		}
		if calls += m.CallCount(); calls > maxMessages {
			return nil, fail(http.StatusRequestEntityTooLarge, "The messages at %s have more than %d tool calls together, which is the limit", dotted(loc[1:]), maxMessages)
		}
		seen[m.ID] = true
		messages = append(messages, m)
	}
	return messages, nil
}

// dotted writes a place in a request as people do: input.messages.
func dotted(loc []any) string {
	parts := make([]string, len(loc))
	for i := range loc {
		parts[i] = fmt.Sprint(loc[i])
	}
	return strings.Join(parts, ".")
}

// inputMessage is a message as clients send it.
type inputMessage struct {
	Role             string            `json:"role"`
	Type             string            `json:"type"`
	Content          *thread.Content   `json:"content"`
	ID               *string           `json:"id"`
	Name             *string           `json:"name"`
	AdditionalKwargs map[string]any    `json:"additional_kwargs"`
	ResponseMetadata map[string]any    `json:"response_metadata"`
	ToolCalls        []thread.ToolCall `json:"tool_calls"`
	ToolCallID       string            `json:"tool_call_id"`
	Artifact         json.RawMessage   `json:"artifact"`
	Status           thread.ToolStatus `json:"status"`
}

// parseMessage reads one message: an object with role or type, a [role, text]
// pair, a text, or an object that LangChain serialised.
func parseMessage(raw json.RawMessage) (thread.Message, error) {
	if len(raw) == 0 {
		return thread.Message{}, errors.New("it is empty")
	}
	var in inputMessage
	switch raw[0] {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return thread.Message{}, err
		}
		content := thread.Text(text)
		in = inputMessage{Role: "user", Content: &content}
	case '[':
		var pair []string
		if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 {
			return thread.Message{}, errors.New("a list should be a pair of role and text")
		}
		content := thread.Text(pair[1])
		in = inputMessage{Role: pair[0], Content: &content}
	case '{':
		decoded, err := decodeInput(raw)
		if err != nil {
			return thread.Message{}, err
		}
		in = decoded
	default:
		return thread.Message{}, errors.New("it should be an object with role and content")
	}
	return in.message()
}

func decodeInput(raw json.RawMessage) (inputMessage, error) {
	var serialised struct {
		LC     int             `json:"lc"`
		ID     json.RawMessage `json:"id"`
		Kwargs json.RawMessage `json:"kwargs"`
	}
	if err := json.Unmarshal(raw, &serialised); err != nil {
		return inputMessage{}, readable(err)
	}
	class := ""
	if serialised.LC != 0 {
		var path []string
		if json.Unmarshal(serialised.ID, &path) != nil || len(path) == 0 || len(serialised.Kwargs) == 0 {
			return inputMessage{}, errors.New("a serialised message should have an id path and kwargs")
		}
		class, raw = path[len(path)-1], serialised.Kwargs
	}
	var in inputMessage
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, readable(err)
	}
	if class != "" {
		in.Role, in.Type = "", strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(class, "Chunk"), "Message"))
	}
	return in, nil
}

// readable turns a decoding error into words that name the field.
func readable(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%s should not be a %s", wrong.Field, wrong.Value)
	}
	return err
}

// message checks the parts and puts them together.
func (in *inputMessage) message() (thread.Message, error) {
	role, err := in.role()
	if err != nil {
		return thread.Message{}, err
	}
	m := thread.Message{
		Role: role, AdditionalKwargs: in.AdditionalKwargs, ResponseMetadata: in.ResponseMetadata,
		ToolCalls: in.ToolCalls, ToolCallID: in.ToolCallID, Artifact: in.Artifact, Status: in.Status,
	}
	for _, key := range serverKeys() {
		delete(m.AdditionalKwargs, key)
	}
	if in.Name != nil && *in.Name != thread.NameSummary { // a summary is not a user's word
		m.Name = *in.Name
	}
	if m.ID = uuid.NewString(); in.ID != nil && *in.ID != "" {
		m.ID = *in.ID
	}
	if in.Content != nil {
		m.Content = *in.Content
	}
	return m, in.fault(&m)
}

// fault says what is wrong with a message whose parts are all there.
func (in *inputMessage) fault(m *thread.Message) error {
	role := m.Role
	switch {
	case len(m.ID) > maxKey || strings.ContainsRune(m.ID, 0):
		return fmt.Errorf("the id should be a text of at most %d bytes", maxKey)
	case len(m.ToolCallID) > maxKey:
		return fmt.Errorf("the tool_call_id should be a text of at most %d bytes", maxKey)
	case slices.ContainsFunc(m.ToolCalls, func(c thread.ToolCall) bool { return len(c.ID) > maxKey || len(c.Name) > maxKey }):
		return fmt.Errorf("the id and the name of a tool call should be texts of at most %d bytes", maxKey)
	case in.Content == nil && (role != thread.RoleAI || len(in.ToolCalls) == 0):
		return errors.New("it has no content")
	case role == thread.RoleTool && m.ToolCallID == "":
		return errors.New("a tool message should have a tool_call_id")
	case role != thread.RoleAI && len(m.ToolCalls) > 0:
		return errors.New("only an ai message may have tool_calls")
	}
	return nil
}

// role reads whom the message is from; type wins over role.
func (in *inputMessage) role() (thread.Role, error) {
	name := in.Type
	if name == "" {
		name = in.Role
	}
	switch strings.TrimSuffix(strings.ToLower(name), "messagechunk") {
	case "human", "user":
		return thread.RoleHuman, nil
	case "ai", "assistant":
		return thread.RoleAI, nil
	case "tool":
		return thread.RoleTool, nil
	case "system", "developer":
		return thread.RoleSystem, nil
	case "":
		return "", errors.New("it has neither role nor type")
	}
	return "", fmt.Errorf("unknown role %q: it should be user, assistant, system or tool", thread.Prefix(name, 40))
}
