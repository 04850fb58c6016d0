package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// wireMessage is a message as clients read it: the shape of Python's
// model_dump, where the keys of a role are always there, and the run it belongs
// to.
type wireMessage struct {
	Content          thread.Content            `json:"content"`
	AdditionalKwargs map[string]any            `json:"additional_kwargs"`
	ResponseMetadata map[string]any            `json:"response_metadata"`
	Type             string                    `json:"type"`
	Name             *string                   `json:"name"`
	ID               string                    `json:"id"`
	RunID            string                    `json:"run_id,omitempty"`
	ToolCalls        *[]thread.ToolCall        `json:"tool_calls,omitempty"`
	InvalidToolCalls *[]thread.InvalidToolCall `json:"invalid_tool_calls,omitempty"`
	Usage            json.RawMessage           `json:"usage_metadata,omitempty"`
	ToolCallID       *string                   `json:"tool_call_id,omitempty"`
	Artifact         json.RawMessage           `json:"artifact,omitempty"`
	Status           thread.ToolStatus         `json:"status,omitempty"`
}

// toWire brings a stored message into the shape for clients.
func toWire(m *thread.Message, runID string) (wireMessage, error) {
	w := wireMessage{
		Content: m.Content, AdditionalKwargs: m.AdditionalKwargs, ResponseMetadata: m.ResponseMetadata,
		Type: string(m.Role), ID: m.ID, RunID: runID,
	}
	if thread.IsUpdate(runID) {
		w.RunID = "" // it came with an update of the state
	}
	if w.AdditionalKwargs == nil {
		w.AdditionalKwargs = map[string]any{}
	}
	if w.ResponseMetadata == nil {
		w.ResponseMetadata = map[string]any{}
	}
	if m.Name != "" {
		w.Name = &m.Name
	}
	if _, told := w.AdditionalKwargs[thread.KeyContext]; told {
		w.AdditionalKwargs = withoutContext(w.AdditionalKwargs)
	}
	if m.Hidden() {
		w.Content = withoutData(w.Content)
	}
	switch m.Role {
	case thread.RoleAI:
		calls, invalid := m.ToolCalls, m.InvalidToolCalls
		if calls == nil {
			calls = []thread.ToolCall{}
		}
		if invalid == nil {
			invalid = []thread.InvalidToolCall{}
		}
		w.ToolCalls, w.InvalidToolCalls = &calls, &invalid
		usage, err := json.Marshal(m.Usage)
		if err != nil {
			return w, fmt.Errorf("encode the usage of message %s: %w", m.ID, err)
		}
		w.Usage = usage
	case thread.RoleTool:
		w.ToolCallID, w.Artifact, w.Status = &m.ToolCallID, m.Artifact, m.Status
		if w.Artifact == nil {
			w.Artifact = json.RawMessage("null")
		}
		if w.Status == "" {
			w.Status = thread.ToolSuccess
		}
	default:
	}
	return w, nil
}

// withoutContext drops what the model was told beside the text: it is not the
// user's, may be long, and every values frame would carry it again.
func withoutContext(kwargs map[string]any) map[string]any {
	kept := maps.Clone(kwargs)
	delete(kept, thread.KeyContext)
	return kept
}

// withoutData drops images that a hidden message carries inline: no page shows
// them, and every values frame would carry them again (E18).
func withoutData(c thread.Content) thread.Content {
	if !c.IsBlocks() {
		return c
	}
	kept := make([]thread.Block, 0, len(c.Parts()))
	for _, b := range c.Parts() {
		if b.Type != "image_url" || !isDataURL(b.Raw) {
			kept = append(kept, b)
		}
	}
	return thread.Blocks(kept...)
}

func isDataURL(block json.RawMessage) bool {
	var b struct {
		ImageURL json.RawMessage `json:"image_url"`
	}
	if json.Unmarshal(block, &b) != nil {
		return false
	}
	var nested struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(b.ImageURL, &nested) != nil {
		_ = json.Unmarshal(b.ImageURL, &nested.URL)
	}
	return strings.HasPrefix(nested.URL, "data:")
}

// messageKey names one revision of a message by the event that announced it.
// Run ids are unique, so a thread that was deleted and made again is another
// one.
type messageKey struct {
	thread, run string
	seq         int64
}

// wireRow is a stored revision of a message and its encoding for clients.
type wireRow struct {
	row  store.Row
	json json.RawMessage
}

// messageAt gives the revision of a message that an event announced.
func (s *Server) messageAt(ctx context.Context, ev *store.Event, id string) (wireRow, error) {
	key := messageKey{thread: ev.Thread, run: ev.Run, seq: ev.Seq}
	return s.messages.get(ctx, key, func(ctx context.Context) (wireRow, int, error) {
		row, err := s.o.Store.GetMessage(ctx, ev.Thread, id)
		if err == nil && row.Seq != ev.Seq {
			row, err = s.olderRevision(ctx, ev, id)
		}
		if err != nil {
			return wireRow{}, 0, err
		}
		w, err := toWire(&row.Message, row.RunID)
		if err != nil {
			return wireRow{}, 0, err
		}
		data, err := json.Marshal(w)
		return wireRow{row: row, json: data}, 2*len(data) + 256, err
	})
}

// olderRevision finds a revision that has been replaced since.
func (s *Server) olderRevision(ctx context.Context, ev *store.Event, id string) (store.Row, error) {
	view, err := s.o.Store.View(ctx, ev.Thread, store.ViewOptions{AtSeq: ev.Seq})
	if err != nil {
		return store.Row{}, err
	}
	for i := range view.Rows {
		if view.Rows[i].ID == id {
			return view.Rows[i], nil
		}
	}
	return store.Row{}, fmt.Errorf("message %s as of event %d: %w", id, ev.Seq, store.ErrNotFound)
}

// messageList encodes rows as the messages channel.
func messageList(rows []store.Row) (json.RawMessage, error) {
	var buf bytes.Buffer
	buf.WriteByte('[')
	for i := range rows {
		w, err := toWire(&rows[i].Message, rows[i].RunID)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(w)
		if err != nil {
			return nil, fmt.Errorf("encode message %s: %w", rows[i].ID, err)
		}
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(data)
	}
	buf.WriteByte(']')
	return buf.Bytes(), nil
}
