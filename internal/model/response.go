package model

import (
	"fmt"
	"strings"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// answerContext is what the end of an answer is judged by.
type answerContext struct {
	configured string // the model's configured name
	model      string // its name at the provider
	provider   string
	tools      []agent.ToolSpec
	noTools    bool
	scope      string
	script     bool // the demo's own words, which may quote anything
}

// response makes the message of a complete answer.
func (a *assembly) response(c answerContext) (*Response, error) {
	if err := a.closeText(); err != nil {
		return nil, err
	}
	if err := failedFinish(a.finish); err != nil {
		return nil, err
	}
	if !a.saw {
		return nil, newError(ClassTransient, "the provider ended the answer without having begun it")
	}
	calls := a.calls.begun()
	finish := a.finish
	if finish == "" {
		finish = finishStop
		if len(calls) > 0 {
			finish = finishToolCalls
		}
	}
	m := thread.Message{Role: thread.RoleAI}
	r := &Response{FinishReason: finish, Usage: a.usage}
	if c.noTools && len(calls) > 0 {
		calls, a.rewritten = nil, true
		if finish == finishToolCalls {
			r.FinishReason = finishStop
		}
	}
	if err := a.judge(&m, calls, finish, c); err != nil {
		return nil, err
	}
	m.Content = thread.Text(a.text.String())
	a.annotate(&m, c, r.FinishReason)
	r.Message, r.Rewritten = m, a.rewritten
	return r, nil
}

// judge decides what becomes of the calls of an answer, and whether its text is
// an answer at all.
func (a *assembly) judge(m *thread.Message, calls []*call, finish string, c answerContext) error {
	switch {
	case isSafety(finish) || a.refusal.Len() > 0:
		return a.filtered(m, calls, finish)
	case len(calls) > 0:
		return a.fileCalls(m, calls, finish, c)
	case c.script:
		return nil
	}
	if name := a.textCall(c.tools); name != "" {
		return newError(ClassUnstructuredCall,
			fmt.Sprintf("the model did not produce a structured call: it wrote the call of %s as text", name))
	}
	return nil
}

// annotate writes what goes beside the text.
func (a *assembly) annotate(m *thread.Message, c answerContext, finish string) {
	if a.reasoning.Len() > 0 {
		m.SetKwarg(thread.KeyReasoning, a.reasoning.String())
	}
	if len(a.details) > 0 {
		m.SetKwarg(KeyReasoningDetails, a.details)
	}
	if a.refusal.Len() > 0 {
		m.SetKwarg(KeyRefusal, a.refusal.String())
	}
	m.ResponseMetadata = map[string]any{
		MetaFinishReason: finish,
		MetaModel:        firstOf(a.model, c.model),
		MetaProvider:     c.provider,
		MetaConfigured:   c.configured,
	}
	if a.usage.TotalTokens > 0 {
		u := a.usage
		m.Usage = &u
	}
}

// filtered drops the calls of an answer that a filter or a refusal ended, and
// tells the reader when anything is missing (B13, A20).
func (a *assembly) filtered(m *thread.Message, calls []*call, finish string) error {
	field, value := firstOf(a.finishField, MetaFinishReason), finish
	if !isSafety(finish) {
		field, value = KeyRefusal, "refused"
	}
	a.rewritten = a.rewritten || len(calls) > 0 // their pieces were handed out
	names := make([]string, 0, len(calls))
	for _, c := range calls {
		names = append(names, wireName(c.name))
	}
	if len(calls) == 0 && strings.TrimSpace(a.text.String()) != "" {
		return nil // what was said is said
	}
	m.SetKwarg(agent.KeySafety, map[string]any{
		"detector":                   "openai_compatible",
		"reason_field":               field,
		"reason_value":               value,
		"suppressed_tool_call_count": len(names),
		"suppressed_tool_call_names": names,
	})
	notice := fmt.Sprintf(safetyNotice, field, value)
	if len(names) > 0 {
		notice += fmt.Sprintf(safetyDropped, strings.Join(names, ", "))
	}
	if strings.TrimSpace(a.text.String()) != "" {
		notice = "\n\n" + notice
	}
	a.text.WriteString(notice)
	return a.hand(Delta{Text: notice})
}

// maxCalls is how many calls of one message are made: all start together, and
// each stands in the history.
const maxCalls = 400

// fileCalls sorts the calls into those that can be run and those that cannot.
func (a *assembly) fileCalls(m *thread.Message, calls []*call, finish string, c answerContext) error {
	named := a.calls.name(c.scope)
	extras := map[string]any{}
	for i, call := range calls {
		if i == maxCalls {
			m.InvalidToolCalls = append(m.InvalidToolCalls, invalidCall(call.unique, resolveName(call.name, c.tools), call.args.String(),
				fmt.Sprintf("one message may have %d calls, this one has %d: this call and those after it were not made. Make them in smaller groups.", maxCalls, len(calls))))
			break
		}
		if !isNull(call.extra) {
			extras[call.unique] = call.extra
		}
		fileCall(m, call, finish, c.tools)
	}
	if len(extras) > 0 {
		m.SetKwarg(KeyCallExtras, extras)
	}
	return a.hand(named)
}

func fileCall(m *thread.Message, call *call, finish string, tools []agent.ToolSpec) {
	name := resolveName(call.name, tools)
	args, err := parseArguments(call.args.String())
	reason := ""
	switch {
	case isLength(finish):
		reason = lengthReason
	case strings.TrimSpace(call.name) == "":
		reason = namelessReason
	case err != nil:
		reason = notExecuted + err.Error() + ". Repeat the call with its arguments as one complete JSON object."
	}
	if reason != "" {
		m.InvalidToolCalls = append(m.InvalidToolCalls, invalidCall(call.unique, name, call.args.String(), reason))
		return
	}
	m.ToolCalls = append(m.ToolCalls, thread.ToolCall{Name: name, Args: args, ID: call.unique, Type: "tool_call"})
}
