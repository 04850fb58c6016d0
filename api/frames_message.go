package api

import (
	"context"
	"encoding/json"
	"errors"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// chunkShape is a piece of an AI message, as LangChain writes one.
type chunkShape struct {
	Content          string           `json:"content"`
	AdditionalKwargs map[string]any   `json:"additional_kwargs"`
	ResponseMetadata map[string]any   `json:"response_metadata"`
	Type             string           `json:"type"`
	Name             *string          `json:"name"`
	ID               string           `json:"id"`
	ToolCalls        []any            `json:"tool_calls"`
	InvalidToolCalls []any            `json:"invalid_tool_calls"`
	Usage            *thread.Usage    `json:"usage_metadata"`
	ToolCallChunks   []callChunkShape `json:"tool_call_chunks"`
	ChunkPosition    *string          `json:"chunk_position"`
}

// callChunkShape is a piece of a tool call; id and name come with the first one
// only.
type callChunkShape struct {
	Name  *string `json:"name"`
	Args  string  `json:"args"`
	ID    *string `json:"id"`
	Index int     `json:"index"`
	Type  string  `json:"type"`
}

func newChunk(id string) chunkShape {
	return chunkShape{
		AdditionalKwargs: map[string]any{}, ResponseMetadata: map[string]any{}, Type: "AIMessageChunk", ID: id,
		ToolCalls: []any{}, InvalidToolCalls: []any{}, ToolCallChunks: []callChunkShape{},
	}
}

// tupleMetadata is the second part of a messages frame.
func (b *builder) tupleMetadata(node string) map[string]any {
	return map[string]any{
		"run_id": b.run, "thread_id": b.thread, "langgraph_node": node, "langgraph_step": b.ev.Step,
		"langgraph_checkpoint_ns": "", "tags": []string{},
	}
}

// delta adds a chunk of a message that is being written.
func (b *builder) delta() error {
	var d store.Delta
	if err := json.Unmarshal(b.ev.Data, &d); err != nil {
		return err
	}
	if d.MessageID == "" || d.Text == "" && d.Reasoning == "" && len(d.ToolCalls) == 0 {
		return nil // usage alone: it comes with the closing chunk
	}
	b.streamed[d.MessageID] = true
	chunk := newChunk(d.MessageID)
	chunk.Content = d.Text
	if d.Reasoning != "" {
		chunk.AdditionalKwargs[thread.KeyReasoning] = d.Reasoning
	}
	for _, c := range d.ToolCalls {
		piece := callChunkShape{Args: c.Args, Index: c.Index, Type: "tool_call_chunk"}
		if c.Name != "" {
			piece.Name = &c.Name
		}
		if c.ID != "" {
			piece.ID = &c.ID
		}
		chunk.ToolCallChunks = append(chunk.ToolCallChunks, piece)
	}
	if err := b.addValue(modeTuple, frameMessages, []any{chunk, b.tupleMetadata(nodeModel)}); err != nil {
		return err
	}
	return b.legacyMetadata(d.MessageID, nodeModel)
}

// reset takes the chunks of a message back, since it is written anew under the
// same id. What nobody has seen needs no taking back.
func (b *builder) reset() error {
	var r store.Reset
	if err := json.Unmarshal(b.ev.Data, &r); err != nil {
		return err
	}
	if !b.streamed[r.MessageID] {
		return nil
	}
	delete(b.streamed, r.MessageID)
	return b.remove(r.MessageID)
}

// remove tells readers to drop what they were shown of a message.
func (b *builder) remove(id string) error {
	removal := map[string]any{
		"type": "remove", "id": id, "content": "", "additional_kwargs": map[string]any{}, "response_metadata": map[string]any{},
	}
	return b.addValue(modeTuple, frameMessages, []any{removal, b.tupleMetadata(nodeModel)})
}

// messageModes are the modes that show single messages.
const messageModes = modeTuple | modeUpdates | modeMessages | modeTasks | modeDebug

// message adds the frames of a message that is complete. The messages that the
// run was started with came with the first values.
func (b *builder) message(ctx context.Context) error {
	var ref store.MessageRef
	if err := json.Unmarshal(b.ev.Data, &ref); err != nil {
		return err
	}
	if b.ev.Seq <= b.inputEnd {
		return nil
	}
	if b.modes&messageModes == 0 || b.ev.Seq < b.from.seq {
		delete(b.streamed, ref.ID) // no frame of it is wanted, so it need not be read
		b.named[ref.ID] = true
		return nil
	}
	stored, err := b.s.messageAt(ctx, b.ev, ref.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // rolled back since, or the thread is gone
	}
	if err != nil {
		return err
	}
	if stored.row.Message.IsSummary() {
		return nil // only models read it (D10)
	}
	node := nodeOf(ref.Role)
	if ref.Rev == 0 {
		if err := b.complete(ref, &stored, node); err != nil {
			return err
		}
	}
	if err := b.update(node, map[string]any{"messages": []json.RawMessage{stored.json}}); err != nil {
		return err
	}
	if ref.Rev != 0 {
		return b.revised(ref, &stored, node)
	}
	return b.completeExtras(ref.ID, &stored, node)
}

// revised shows an answer that was changed after it was complete, whole and in
// the place of what was shown of it: a notice was added, or calls that were not
// run were taken out.
func (b *builder) revised(ref store.MessageRef, stored *wireRow, node string) error {
	if ref.Role != thread.RoleAI {
		return nil
	}
	if err := b.remove(ref.ID); err != nil {
		return err
	}
	return b.addValue(modeTuple, frameMessages, []any{stored.json, b.tupleMetadata(node)})
}

// nodeOf names the node that makes messages of a role.
func nodeOf(role thread.Role) string {
	switch role {
	case thread.RoleAI:
		return nodeModel
	case thread.RoleTool:
		return nodeTools
	default:
		return "before_model"
	}
}

// complete ends a message on the messages channel: clients append what comes
// under one id, so a message that was streamed is only closed, and any other
// one is sent whole, once.
func (b *builder) complete(ref store.MessageRef, stored *wireRow, node string) error {
	streamed := b.streamed[ref.ID]
	if ref.Role == thread.RoleAI && b.gapped {
		streamed, b.gapped = true, false // its chunks are gone from the log, not from the client
	}
	delete(b.streamed, ref.ID)
	var whole any = stored.json
	if streamed {
		whole = closingChunk(&stored.row.Message)
	}
	return b.addValue(modeTuple, frameMessages, []any{whole, b.tupleMetadata(node)})
}

// completeExtras adds the frames of a complete message in the modes that few
// readers ask for.
func (b *builder) completeExtras(id string, stored *wireRow, node string) error {
	if err := b.legacyMetadata(id, node); err != nil {
		return err
	}
	if err := b.addValue(modeMessages, "messages/complete", []json.RawMessage{stored.json}); err != nil {
		return err
	}
	return b.taskResult(id, node, stored)
}

// closingChunk ends a streamed message: what only its end tells, and no text.
func closingChunk(m *thread.Message) chunkShape {
	chunk, last := newChunk(m.ID), "last"
	chunk.Usage, chunk.ChunkPosition = m.Usage, &last
	if m.ResponseMetadata != nil {
		chunk.ResponseMetadata = m.ResponseMetadata
	}
	for key, value := range m.AdditionalKwargs {
		if key != thread.KeyReasoning { // it came in pieces
			chunk.AdditionalKwargs[key] = value
		}
	}
	return chunk
}

// legacyMetadata announces a message to readers of the old messages mode, once.
// Its number is taken every time: which chunks are still in the log must not
// move the ids of other frames.
func (b *builder) legacyMetadata(id, node string) error {
	if b.named[id] || !b.wants(modeMessages) {
		b.named[id] = true
		b.n++
		return nil
	}
	b.named[id] = true
	return b.addValue(modeMessages, "messages/metadata",
		map[string]any{id: map[string]any{"metadata": b.tupleMetadata(node)}})
}

// update adds what a node changed.
func (b *builder) update(node string, change any) error {
	return b.addValue(modeUpdates, frameUpdates, map[string]any{node: change})
}
