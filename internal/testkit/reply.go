package testkit

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Reply is what the model server answers to one request. Build one with
// [Text], [ToolCalls], [Error], [APIError], [Raw] or [Steps].
type Reply struct {
	Status int         // HTTP status; 0 means 200
	Header http.Header // added to the response

	before     []Step      // ahead of the status line
	steps      []Step      // the body, when it does not depend on the request
	completion *completion // the body, when it does
}

// ReplyOption changes a reply built by [Text] or [ToolCalls].
type ReplyOption func(*completion)

// Call is a tool call that the model makes.
type Call struct {
	// ID of the call; empty means one that is unique in this server.
	ID string
	// Name of the tool.
	Name string
	// Args of the call: a string is sent as it is, nil as {}, anything else as
	// its JSON.
	Args any
	// NoID sends "id": null.
	NoID bool
	// NoIndex leaves the index out of the streamed deltas.
	NoIndex bool
}

// Text is a complete answer with the given text: a stream when the request
// asks for one, else a JSON completion.
func Text(text string, options ...ReplyOption) Reply {
	return Reply{completion: &completion{text: text, chunks: 1}}.With(options...)
}

// ToolCalls is a complete answer that asks for tools. Use Text with
// [WithCalls] for an answer that has both.
func ToolCalls(calls ...Call) Reply {
	return Text("", WithCalls(calls...))
}

// Error is an answer with an HTTP error status and a body of any kind. Header
// pairs are written "Name: value".
func Error(status int, body string, header ...string) Reply {
	r := Reply{Status: status, Header: http.Header{}, steps: []Step{Write([]byte(body))}}
	r.Header.Set("Content-Type", sniff(body))
	for _, line := range header {
		name, value, _ := strings.Cut(line, ":")
		r.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return r
}

// APIError is an HTTP error in OpenAI's shape. An empty code is sent as null.
func APIError(status int, code, message string, header ...string) Reply {
	return Error(status, errorBody("", code, message), header...)
}

// Raw is a 200 event stream of the given byte strings, each flushed on its
// own, that ends in good order.
func Raw(parts ...string) Reply {
	steps := make([]Step, 0, len(parts))
	for _, part := range parts {
		steps = append(steps, Send(part))
	}
	return Steps(steps...)
}

// Steps is a 200 event stream made by hand.
func Steps(steps ...Step) Reply {
	return Reply{Header: http.Header{"Content-Type": {"text/event-stream"}}, steps: steps}
}

// With returns the reply with further options. It panics on a reply that is
// not built by [Text] or [ToolCalls], which the options cannot change.
func (r Reply) With(options ...ReplyOption) Reply {
	if r.completion == nil {
		if len(options) == 0 {
			return r
		}
		panic("testkit: Reply.With: only replies of Text and ToolCalls take options")
	}
	r.completion = r.completion.clone()
	for _, option := range options {
		option(r.completion)
	}
	return r
}

// Before returns the reply with steps that are carried out ahead of the status
// line, so that Before(Hang()) is a server that never answers.
func (r Reply) Before(steps ...Step) Reply {
	r.before = append(slices.Clone(r.before), steps...)
	return r
}

// WithChunks splits the text, the reasoning and the arguments of each call
// into up to n pieces each, between characters.
func WithChunks(n int) ReplyOption {
	return func(c *completion) { c.chunks = n }
}

// WithDelay pauses before each piece.
func WithDelay(d time.Duration) ReplyOption {
	return func(c *completion) { c.delay = d }
}

// WithUsage sets the token counts; without it they are estimated.
func WithUsage(input, output int) ReplyOption {
	return func(c *completion) { c.usage = &usage{input, output, input + output} }
}

// WithReasoning sends thinking ahead of the text, as reasoning_content.
func WithReasoning(text string) ReplyOption {
	return func(c *completion) { c.reasoning, c.reasoningField = text, "reasoning_content" }
}

// WithReasoningField sends thinking under another name, such as "reasoning".
func WithReasoningField(field, text string) ReplyOption {
	return func(c *completion) { c.reasoning, c.reasoningField = text, field }
}

// WithCalls adds tool calls after the text.
func WithCalls(calls ...Call) ReplyOption {
	return func(c *completion) {
		for _, call := range calls {
			call.Args = call.arguments() // a value that is no JSON fails here, in the test's own frame
			c.calls = append(c.calls, call)
		}
	}
}

// WithFinish sets the finish reason; without it the reason is "tool_calls"
// when there are calls and "stop" when there are none. An empty reason is
// left out.
func WithFinish(reason string) ReplyOption {
	return func(c *completion) { c.finish = &reason }
}

// WithoutDone leaves the closing [DONE] out.
func WithoutDone() ReplyOption {
	return func(c *completion) { c.noDone = true }
}

// At carries steps out when n pieces have been sent, counted over reasoning,
// text and arguments (a call's opening delta is a piece too). A place after
// the last piece is ahead of the finish reason. A reply that is not streamed
// carries all such steps out ahead of its body.
func At(n int, steps ...Step) ReplyOption {
	return func(c *completion) {
		c.at[n] = append(c.at[n], steps...)
	}
}

// render returns the steps and headers of the reply to req.
func (r Reply) render(req *Request) ([]Step, http.Header) {
	steps, header := r.steps, http.Header{}
	if r.completion != nil {
		steps, header = r.completion.render(req)
	}
	maps.Copy(header, r.Header)
	return slices.Concat(r.before, steps), header
}

func sniff(body string) string {
	switch trimmed := strings.TrimSpace(body); {
	case strings.HasPrefix(trimmed, "{"):
		return "application/json"
	case strings.HasPrefix(trimmed, "<"):
		return "text/html"
	default:
		return "text/plain"
	}
}

// errorBody is an error in OpenAI's shape.
func errorBody(param, code, message string) string {
	type detail struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	d := detail{Message: message, Type: "invalid_request_error"}
	if param != "" {
		d.Param = &param
	}
	if code != "" {
		d.Code = &code
	}
	body, err := json.Marshal(map[string]detail{"error": d})
	if err != nil { // a struct of strings always encodes
		panic(err)
	}
	return string(body)
}
