package model

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestA18ReasoningIsReadUnderEveryName(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"reasoning_content": piece(`{"reasoning_content":"I th"}`) + piece(`{"reasoning_content":"ink."}`),
		"reasoning":         piece(`{"reasoning":"I th"}`) + piece(`{"reasoning":"ink."}`),
		"both, the same":    piece(`{"reasoning_content":"I think.","reasoning":"I think."}`),
		"an object":         piece(`{"reasoning":{"text":"I think."}}`),
		"details":           piece(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"I th"}]}`) + piece(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"ink."}]}`),
		"details and text":  piece(`{"reasoning":"I think.","reasoning_details":[{"type":"reasoning.text","index":0,"text":"I think."}]}`),
		"summary":           piece(`{"reasoning_details":[{"type":"reasoning.summary","summary":"I think."}]}`),
		"content parts":     piece(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"I think."}]}]}`),
		"empty first":       piece(`{"reasoning_content":"","reasoning":null}`) + piece(`{"reasoning_content":"I think."}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := streamed(t, raw+said("Yes.")+ended("stop"))
			require.NoError(t, h.err)
			require.Equal(t, "I think.", h.reasoning())
			require.Equal(t, "I think.", h.resp.Message.Reasoning())
			require.Equal(t, "Yes.", h.resp.Message.Content.String())
		})
	}
}

// sentBack is the assistant message of the next request.
func sentBack(t *testing.T, cfg Config, m thread.Message, thinking bool) map[string]json.RawMessage {
	t.Helper()
	req := question("x")
	req.Thinking = thinking
	req.Messages = append(req.Messages, m)
	body, err := encodeRequest(&cfg, quirks{}, &req)
	require.NoError(t, err)
	var sent struct {
		Messages []map[string]json.RawMessage `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(body, &sent))
	return sent.Messages[2]
}

func TestA18ReasoningGoesBack(t *testing.T) {
	t.Parallel()
	thinks := testConfig()
	thinks.Thinking = true
	const thought = " I think,\n\ttherefore <I> am \u00e9 "
	withCall := thread.Message{Role: thread.RoleAI, ToolCalls: []thread.ToolCall{{ID: "c", Name: "ls", Args: json.RawMessage("{}")}}}
	withText := thread.Message{Role: thread.RoleAI, Content: thread.Text("Yes.")}
	reasoned := func(m thread.Message, by string) thread.Message {
		m.SetKwarg(thread.KeyReasoning, thought)
		m.ResponseMetadata = map[string]any{MetaConfigured: by}
		return m
	}
	flagged := func(cfg Config, mode, field string) Config {
		cfg.Flags.ReasoningContent, cfg.Flags.ReasoningField = mode, field
		return cfg
	}
	quoted := func(s string) string {
		raw, err := json.Marshal(s)
		require.NoError(t, err)
		return string(raw)
	}
	cases := []struct {
		name     string
		cfg      Config
		message  thread.Message
		thinking bool
		want     string // of reasoning_content, "" for no key
	}{
		{"word for word", thinks, reasoned(withCall, "big"), true, quoted(thought)},
		{"of another model, while thinking", thinks, reasoned(withCall, "other"), true, quoted(thought)},
		{"of a text answer too", thinks, reasoned(withText, "big"), true, quoted(thought)},
		{"none with a call: one space", thinks, withCall, true, `" "`},
		{"none with text", thinks, withText, true, ""},
		{"thinking off, its own", thinks, reasoned(withCall, "big"), false, quoted(thought)},
		{"thinking off, none", thinks, withCall, false, ""},
		{"never thinks, its own", testConfig(), reasoned(withCall, "big"), true, quoted(thought)},
		{"never thinks, of another model", testConfig(), reasoned(withCall, "other"), true, ""},
		{"omit", flagged(thinks, ReasoningOmit, ""), reasoned(withCall, "big"), true, ""},
		{"placeholder", flagged(testConfig(), ReasoningPlaceholder, ""), withCall, false, `" "`},
		{"other field", flagged(thinks, "", "reasoning"), reasoned(withCall, "big"), true, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sent := sentBack(t, c.cfg, c.message, c.thinking)
			got, has := sent["reasoning_content"]
			if c.want == "" {
				require.False(t, has, string(got))
			} else {
				require.JSONEq(t, c.want, string(got))
			}
			if c.cfg.Flags.ReasoningField == "reasoning" {
				require.JSONEq(t, quoted(thought), string(sent["reasoning"]))
			}
		})
	}
}

// The details go back as they came, signatures included, to their own model.
func TestA18DetailsGoBack(t *testing.T) {
	t.Parallel()
	raw := piece(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"I th","format":"f"}]}`) +
		piece(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"ink.","signature":"sig"},{"type":"reasoning.encrypted","index":1,"data":"AA=="}]}`) +
		toolCallsPiece(writeCall) + ended("tool_calls")
	h := streamed(t, raw)
	require.NoError(t, h.err)
	m := stored(t, h.resp.Message)
	sent := sentBack(t, testConfig(), m, false)
	require.JSONEq(t, `[{"type":"reasoning.text","index":0,"text":"I think.","format":"f","signature":"sig"},
		{"type":"reasoning.encrypted","index":1,"data":"AA=="}]`, string(sent["reasoning_details"]))
	other := testConfig()
	other.Name = "other"
	require.NotContains(t, sentBack(t, other, m, false), "reasoning_details")
}
