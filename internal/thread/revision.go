package thread

import "maps"

// Revision changes a stored message under its id; the old body is kept as an
// earlier revision in the log.
type Revision struct {
	MessageID string `json:"message_id"`
	// StripCalls removes every tool call, also those that an imported message
	// has in its provider's own form, and a finish reason of tool_calls becomes
	// stop: the shared "forced final answer".
	StripCalls bool `json:"strip_calls,omitempty"`
	// AppendText is added to the content after a blank line.
	AppendText string `json:"append_text,omitempty"`
	// Kwargs are set in additional_kwargs.
	Kwargs map[string]any `json:"kwargs,omitempty"`
}

// Apply gives the message as the revision leaves it; m itself is not changed.
func (r Revision) Apply(m Message) Message {
	if r.StripCalls {
		m.ToolCalls, m.InvalidToolCalls = nil, nil
		if m.ResponseMetadata["finish_reason"] == "tool_calls" {
			m.ResponseMetadata = maps.Clone(m.ResponseMetadata)
			m.ResponseMetadata["finish_reason"] = "stop"
		}
		if m.AdditionalKwargs != nil {
			m.AdditionalKwargs = maps.Clone(m.AdditionalKwargs)
			delete(m.AdditionalKwargs, "tool_calls")
			delete(m.AdditionalKwargs, "function_call")
		}
	}
	if r.AppendText != "" {
		m.Content = m.Content.Append(r.AppendText)
	}
	if len(r.Kwargs) > 0 {
		kwargs := make(map[string]any, len(m.AdditionalKwargs)+len(r.Kwargs))
		maps.Copy(kwargs, m.AdditionalKwargs)
		maps.Copy(kwargs, r.Kwargs)
		m.AdditionalKwargs = kwargs
	}
	return m
}
