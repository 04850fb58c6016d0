package testkit

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

// completion is a well-formed answer, sent as a stream or as one JSON object,
// whichever the request asks for.
type completion struct {
	text           string
	reasoning      string
	reasoningField string
	calls          []Call
	chunks         int
	delay          time.Duration
	usage          *usage
	finish         *string
	noDone         bool
	at             map[int][]Step
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// streamChunk is one event of a stream.
type streamChunk struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Created int64          `json:"created"`
	Model   string         `json:"model"`
	Choices []streamChoice `json:"choices"`
	Usage   any            `json:"usage,omitempty"` // a null where usage was asked for and is still to come
}

type streamChoice struct {
	Index  int     `json:"index"`
	Delta  any     `json:"delta"`
	Finish *string `json:"finish_reason"`
}

func newChunk(req *Request, delta any, finish string) streamChunk {
	choice := streamChoice{Delta: delta}
	if finish != "" {
		choice.Finish = &finish
	}
	chunk := emptyChunk(req)
	chunk.Choices = append(chunk.Choices, choice)
	return chunk
}

func emptyChunk(req *Request) streamChunk {
	chunk := streamChunk{
		ID:      fmt.Sprintf("chatcmpl-%d", req.N),
		Object:  "chat.completion.chunk",
		Created: req.Time.Unix(),
		Model:   req.Model,
		Choices: []streamChoice{},
	}
	if req.IncludeUsage {
		chunk.Usage = json.RawMessage("null")
	}
	return chunk
}

func (c *completion) clone() *completion {
	copied := *c
	copied.calls = slices.Clone(c.calls)
	copied.at = map[int][]Step{}
	for n, steps := range c.at {
		copied.at[n] = slices.Clone(steps)
	}
	return &copied
}

func (c *completion) render(req *Request) ([]Step, http.Header) {
	if req.Stream {
		return c.stream(req), http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	}
	return c.object(req), http.Header{"Content-Type": {"application/json"}}
}

// stream returns the steps of the streamed form.
func (c *completion) stream(req *Request) []Step {
	pieces := c.pieces(req)
	steps := []Step{jsonStep(newChunk(req, map[string]any{"role": "assistant", "content": ""}, ""))}
	steps = append(steps, c.at[0]...)
	for i, delta := range pieces {
		if c.delay > 0 {
			steps = append(steps, Pause(c.delay))
		}
		steps = append(steps, jsonStep(newChunk(req, delta, "")))
		steps = append(steps, c.at[i+1]...)
	}
	for _, n := range slices.Sorted(maps.Keys(c.at)) {
		if n > len(pieces) {
			steps = append(steps, c.at[n]...)
		}
	}
	if reason := c.finishReason(); reason != "" {
		steps = append(steps, jsonStep(newChunk(req, map[string]any{}, reason)))
	}
	if req.IncludeUsage {
		last := emptyChunk(req)
		last.Usage = c.tokens(req)
		steps = append(steps, jsonStep(last))
	}
	if !c.noDone {
		steps = append(steps, Done())
	}
	return steps
}

// pieces returns the deltas between the opening one and the finish reason.
func (c *completion) pieces(req *Request) []map[string]any {
	var deltas []map[string]any
	for _, piece := range split(c.reasoning, c.chunks) {
		deltas = append(deltas, map[string]any{c.reasoningField: piece})
	}
	for _, piece := range split(c.text, c.chunks) {
		deltas = append(deltas, map[string]any{"content": piece})
	}
	for i, call := range c.calls {
		open := map[string]any{
			"id":       call.wireID(req, i),
			"type":     "function",
			"function": map[string]any{"name": call.Name, "arguments": ""},
		}
		deltas = append(deltas, call.delta(i, open))
		for _, piece := range split(call.arguments(), c.chunks) {
			part := map[string]any{"function": map[string]any{"arguments": piece}}
			deltas = append(deltas, call.delta(i, part))
		}
	}
	return deltas
}

// object returns the steps of the form that is not streamed.
func (c *completion) object(req *Request) []Step {
	message := map[string]any{"role": "assistant", "content": c.text}
	if c.reasoning != "" {
		message[c.reasoningField] = c.reasoning
	}
	if len(c.calls) > 0 {
		if c.text == "" {
			message["content"] = nil
		}
		calls := make([]map[string]any, 0, len(c.calls))
		for i, call := range c.calls {
			calls = append(calls, map[string]any{
				"id":       call.wireID(req, i),
				"type":     "function",
				"function": map[string]any{"name": call.Name, "arguments": call.arguments()},
			})
		}
		message["tool_calls"] = calls
	}
	choice := map[string]any{"index": 0, "message": message, "finish_reason": nil}
	if reason := c.finishReason(); reason != "" {
		choice["finish_reason"] = reason
	}
	body := mustJSON(map[string]any{
		"id":      fmt.Sprintf("chatcmpl-%d", req.N),
		"object":  "chat.completion",
		"created": req.Time.Unix(),
		"model":   req.Model,
		"choices": []any{choice},
		"usage":   c.tokens(req),
	})
	var steps []Step
	for _, n := range slices.Sorted(maps.Keys(c.at)) {
		steps = append(steps, c.at[n]...)
	}
	if c.delay > 0 {
		steps = append(steps, Pause(c.delay))
	}
	return append(steps, Write(body))
}

func (c *completion) finishReason() string {
	switch {
	case c.finish != nil:
		return *c.finish
	case len(c.calls) > 0:
		return "tool_calls"
	default:
		return "stop"
	}
}

func (c *completion) tokens(req *Request) *usage {
	if c.usage != nil {
		return c.usage
	}
	output := estimateText(c.reasoning) + estimateText(c.text)
	for _, call := range c.calls {
		output += estimateText(call.Name) + estimateText(call.arguments())
	}
	input := EstimateTokens(req.Body)
	return &usage{input, output, input + output}
}

// wireID returns the id that the i-th call of the answer to req carries, nil
// for none.
func (c Call) wireID(req *Request, i int) any {
	switch {
	case c.NoID:
		return nil
	case c.ID == "":
		return fmt.Sprintf("call_%d_%d", req.N, i)
	default:
		return c.ID
	}
}

func (c Call) delta(i int, fields map[string]any) map[string]any {
	if !c.NoIndex {
		fields["index"] = i
	}
	return map[string]any{"tool_calls": []any{fields}}
}

// arguments returns the text of the call's arguments.
func (c Call) arguments() string {
	switch args := c.Args.(type) {
	case nil:
		return "{}"
	case string:
		return args
	default:
		return string(mustJSON(args))
	}
}

// split cuts text into up to n pieces of about the same number of characters.
func split(text string, n int) []string {
	if text == "" {
		return nil
	}
	n = min(max(n, 1), utf8.RuneCountInString(text))
	runes := []rune(text)
	pieces := make([]string, 0, n)
	for i := range n {
		pieces = append(pieces, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return pieces
}

func jsonStep(chunk streamChunk) Step {
	return Step{func(x *exchange) error { return sendJSON(x, chunk) }}
}

// mustJSON encodes what a test wrote; a value that JSON cannot hold is a fault
// of that test.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("testkit: a scripted value is not JSON: %v", err))
	}
	return data
}
