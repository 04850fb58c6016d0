package model

import (
	"context"
	"fmt"
	"strings"
	"time"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// demoDelay is the pause between two pieces of the demo's answers: long enough
// that streaming can be seen.
const demoDelay = 8 * time.Millisecond

// demoName is the demo's name in every place that has one.
const demoName = "demo"

// demo is a model that is a script.
type demo struct {
	delay time.Duration
	scope string
}

// NewDemo makes the built-in demo model: offline, deterministic, without state.
// It asks one question a thread, reads the uploaded files with the tools of the
// request and writes a report that quotes them, and it says that it is no AI.
// Of the options it takes Scope and Delay.
func NewDemo(o Options) Chatter {
	d := &demo{delay: o.Delay, scope: o.Scope}
	if d.delay == 0 {
		d.delay = demoDelay
	}
	return d
}

// demoTurn is what the demo says next.
type demoTurn struct {
	text  string
	calls []demoCall
}

// demoCall is a tool call with its arguments in the order they are written.
type demoCall struct {
	tool string
	args body
}

func newDemoCall(tool string, pairs ...any) demoCall {
	c := demoCall{tool: tool}
	for i := 0; i+1 < len(pairs); i += 2 {
		c.args.set(fmt.Sprint(pairs[i]), pairs[i+1])
	}
	return c
}

// Chat answers from the messages of the request alone.
func (d *demo) Chat(ctx context.Context, req Request, emit func(Delta) error) (*Response, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("call model %s: %w", demoName, contextError(ctx))
	}
	r, err := d.speak(ctx, &req, nextDemoTurn(&req), emit)
	if err != nil {
		return nil, fmt.Errorf("call model %s: %w", demoName, err)
	}
	return r, nil
}

// speak streams a turn and makes its message.
func (d *demo) speak(ctx context.Context, req *Request, turn demoTurn, emit func(Delta) error) (*Response, error) {
	a := &assembly{emit: emit, saw: true, finish: finishStop}
	seen := seenCallIDs(req.Messages)
	a.calls.known = func(id string) bool { return seen[id] || req.KnownCallIDs != nil && req.KnownCallIDs(id) }
	scope := firstOf(req.Scope, d.scope)
	if scope == "" {
		scope = fmt.Sprintf("demo-%d", len(req.Messages))
	}
	for _, piece := range strings.SplitAfter(turn.text, " ") {
		a.text.WriteString(piece)
		if err := d.hand(ctx, a, Delta{Text: piece}); err != nil {
			return nil, err
		}
	}
	output := thread.EstimateTokens(turn.text)
	for i, c := range turn.calls {
		args, err := fitArgs(req.Tools, &c).encode()
		if err != nil {
			return nil, fmt.Errorf("write the arguments of %s: %w", c.tool, err)
		}
		a.finish = finishToolCalls
		output += thread.EstimateTokens(string(args))
		p := callPiece{index: looseInt{i, true}, id: madeID(scope, i), name: c.tool}
		if err := d.hand(ctx, a, Delta{ToolCalls: []ToolCallDelta{a.calls.add(p)}}); err != nil {
			return nil, err
		}
		for _, piece := range cut(string(args), argPieces) {
			p := callPiece{index: looseInt{i, true}, args: []byte(piece)}
			if err := d.hand(ctx, a, Delta{ToolCalls: []ToolCallDelta{a.calls.add(p)}}); err != nil {
				return nil, err
			}
		}
	}
	input := EstimateRequest(req)
	a.usage = thread.Usage{InputTokens: input, OutputTokens: output, TotalTokens: input + output}
	return a.response(answerContext{
		configured: demoName, model: demoName, provider: demoName, tools: req.Tools, scope: scope, script: true,
	})
}

// hand gives a piece out and waits a moment.
func (d *demo) hand(ctx context.Context, a *assembly, piece Delta) error {
	if err := a.hand(piece); err != nil {
		return err
	}
	if d.delay < 0 {
		if ctx.Err() != nil {
			return contextError(ctx)
		}
		return nil
	}
	timer := time.NewTimer(d.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	}
}

// argPieces is in how many pieces arguments are streamed at most.
const argPieces = 40

// cut splits text into up to n pieces of the same size, between characters.
func cut(text string, n int) []string {
	size := max((len(text)+n-1)/n, 16)
	var pieces []string
	for len(text) > size {
		piece := thread.Prefix(text, size)
		pieces = append(pieces, piece)
		text = text[len(piece):]
	}
	return append(pieces, text)
}

// fitArgs leaves out arguments that the tool's schema does not have.
func fitArgs(tools []agent.ToolSpec, c *demoCall) *body {
	fitting := &body{}
	for i := range tools {
		if tools[i].Name != c.tool {
			continue
		}
		properties := schemaProperties(tools[i].Parameters)
		for _, f := range c.args.fields {
			if properties == nil || properties[f.key] {
				fitting.set(f.key, f.value)
			}
		}
	}
	return fitting
}
