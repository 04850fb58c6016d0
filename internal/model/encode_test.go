package model

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

var update = flag.Bool("update", false, "write the golden files anew")

func ptr[T any](v T) *T { return &v }

// conversation is a history with a bit of everything.
func conversation(t *testing.T) []thread.Message {
	t.Helper()
	var picture thread.Content
	require.NoError(t, json.Unmarshal([]byte(`[{"type":"text","text":"What is this?"},
		{"type":"image","base64":"AAAA","mime_type":"image/png"},{"type":"image_url","image_url":{"url":"https://x.test/a.png","detail":"low"}}]`), &picture))
	calls := thread.Message{
		ID: "m2", Role: thread.RoleAI, ResponseMetadata: map[string]any{MetaConfigured: "big"},
		ToolCalls: []thread.ToolCall{
			{ID: "call_1", Name: "ls", Args: json.RawMessage(`{"path": "/mnt/user-data/<uploads>"}`), Type: "tool_call"},
			{ID: "call_2", Name: "search", Args: json.RawMessage(`{"q":"é"}`), Type: "tool_call"},
		},
	}
	calls.SetKwarg(thread.KeyReasoning, "I should look.")
	reminder := func(date string) thread.Message {
		m := thread.Message{Role: thread.RoleSystem, Content: thread.Text("Today is " + date + ".")}
		m.SetKwarg("dynamic_context_reminder", true)
		return m
	}
	return []thread.Message{
		reminder("Monday"),
		{ID: "m1", Role: thread.RoleHuman, Content: picture},
		calls,
		result("call_2", "search", "found"),
		thread.Human("h9", "by the way"),
		result("call_1", "ls", ""),
		reminder("Tuesday"),
		{Role: thread.RoleSystem, Content: thread.Text("Be short.")},
		{ID: "m3", Role: thread.RoleAI, Content: thread.Text("Done.")},
		thread.Human("h2", "Thanks & more?"),
	}
}

func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	tools := []agent.ToolSpec{
		{Name: "ls", Description: "List a folder.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"title":"Ls"}`)},
		{Name: "search", Description: "Search.", Parameters: json.RawMessage(`{"type":["object","null"],"anyOf":[{"required":["q"]}]}`)},
		{Name: "search", Description: "A second of the name."},
		{Name: "not valid"},
	}
	base := Request{System: "You are a researcher.", Tools: tools}
	for name, c := range map[string]struct {
		cfg func(*Config)
		req func(*Request)
	}{
		"plain": {},
		"settings": {
			cfg: func(c *Config) {
				c.Temperature, c.TopP, c.MaxTokens = ptr(0.0), ptr(0.5), 100
				c.Extra = map[string]any{"seed": 7, "extra_body": map[string]any{"top_k": 3}, "provider": map[string]any{"sort": "price"}}
				c.Flags = Flags{ToolOnlyContent: ToolOnlyEmpty, StreamOptions: ptr(false), ParallelToolCalls: ptr(false), MaxTokensField: MaxCompletionTokens}
			},
		},
		"thinking": {
			cfg: func(c *Config) {
				c.Thinking, c.Effort = true, true
				c.WhenThinkingEnabled = map[string]any{"thinking": map[string]any{"type": "enabled"}, "chat_template_kwargs": map[string]any{"enable_thinking": true}}
				c.Extra = map[string]any{"chat_template_kwargs": map[string]any{"lang": "en"}}
			},
			req: func(r *Request) { r.Thinking, r.Effort = true, "high" },
		},
		"thinking_off": {
			cfg: func(c *Config) {
				c.Thinking = true
				c.WhenThinkingEnabled = map[string]any{
					"extra_body":           map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 5}},
					"chat_template_kwargs": map[string]any{"enable_thinking": true, "lang": "en"},
				}
			},
			req: func(r *Request) { r.Effort = "high" },
		},
		"no_tools":   {req: func(r *Request) { r.NoTools = true }},
		"tools_gone": {cfg: func(c *Config) { c.Flags.ToolOnlyContent = ToolOnlyOmit }, req: func(r *Request) { r.Tools = nil }},
		"whole": {
			cfg: func(c *Config) { c.Flags.Streaming = ptr(false) },
			req: func(r *Request) { r.System, r.Tools, r.Messages = "", nil, []thread.Message{thread.Human("h", "hi")} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, req := testConfig(), base
			req.Messages = conversation(t)
			if c.cfg != nil {
				c.cfg(&cfg)
			}
			if c.req != nil {
				c.req(&req)
			}
			require.NoError(t, cfg.check())
			body, err := encodeRequest(&cfg, quirks{}, &req)
			require.NoError(t, err)
			require.Empty(t, violations(body, req.Thinking))
			golden(t, name, body)
		})
	}
}

func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	var pretty bytes.Buffer
	require.NoError(t, json.Indent(&pretty, body, "", "  "))
	pretty.WriteByte('\n')
	file := filepath.Join("testdata", "requests", name+".json")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
		require.NoError(t, os.WriteFile(file, pretty.Bytes(), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), pretty.String())
}

// Two requests of a thread begin with the same bytes, so that a provider's cache
// finds them (A21).
func TestA21SamePrefix(t *testing.T) {
	t.Parallel()
	cfg, req := testConfig(), question("first")
	first, err := encodeRequest(&cfg, quirks{}, &req)
	require.NoError(t, err)
	req.Messages = append(req.Messages, thread.Message{Role: thread.RoleAI, Content: thread.Text("yes")}, thread.Human("h", "second"))
	second, err := encodeRequest(&cfg, quirks{}, &req)
	require.NoError(t, err)
	shared := len(first) - len("]}")
	require.Equal(t, string(first[:shared]), string(second[:shared]))
	again, err := encodeRequest(&cfg, quirks{}, &req)
	require.NoError(t, err)
	require.Equal(t, second, again)
}

func TestA26Settings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"NaN":               {func(c *Config) { c.Temperature = ptr(math.NaN()) }, "temperature"},
		"infinite":          {func(c *Config) { c.TopP = ptr(math.Inf(1)) }, "top_p"},
		"infinite in extra": {func(c *Config) { c.Extra = map[string]any{"x": math.Inf(-1)} }, "extra"},
		"no model":          {func(c *Config) { c.Model = "" }, "model"},
		"no URL":            {func(c *Config) { c.BaseURL = "provider.test" }, "base_url"},
		"other scheme":      {func(c *Config) { c.BaseURL = "file:///etc" }, "base_url"},
		"negative":          {func(c *Config) { c.ChunkTimeout = -1 }, "chunk_timeout"},
		"messages":          {func(c *Config) { c.Extra = map[string]any{"messages": 1} }, "extra.messages"},
		"stream":            {func(c *Config) { c.WhenThinkingEnabled = map[string]any{"stream": false} }, "when_thinking_enabled.stream"},
		"flag":              {func(c *Config) { c.Flags.ReasoningContent = "sometimes" }, "reasoning_content"},
		"other flag":        {func(c *Config) { c.Flags.ToolOnlyContent = "maybe" }, "tool_only_content"},
	} {
		cfg := testConfig()
		c.change(&cfg)
		_, err := New(cfg, Options{})
		require.ErrorContains(t, err, c.want, name)
		require.ErrorContains(t, err, `"big"`, name)
	}
	_, err := New(testConfig(), Options{APIKey: "sk-abc\nX-Evil: 1"})
	require.ErrorContains(t, err, "api_key")
	require.NotContains(t, err.Error(), "sk-abc")
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                          "https://api.openai.com/v1/chat/completions",
		"http://x/v1/":              "http://x/v1/chat/completions",
		"http://x":                  "http://x/chat/completions",
		"http://x/openai?api=2":     "http://x/openai/chat/completions?api=2",
		"http://x/chat/completions": "http://x/chat/completions",
	} {
		got, err := (&Config{BaseURL: base}).endpoint()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestConfigIsJSON(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Temperature, cfg.Flags.Streaming, cfg.ChunkTimeout = ptr(0.0), ptr(false), 5
	cfg.Extra = map[string]any{"a": "b"}
	var back Config
	require.NoError(t, json.Unmarshal([]byte(mustJSON(t, cfg)), &back))
	require.Equal(t, cfg, back)
}

// The room for the answer shrinks with the prompt (V10).
func TestV10AnswerRoom(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.MaxTokens, cfg.ContextWindow = 4000, 8000
	room := func(text string) int {
		req := Request{Messages: []thread.Message{thread.Human("h", text)}}
		return answerRoom(&cfg, &req, req.Messages)
	}
	require.Equal(t, 4000, room("short"))
	long := room(strings.Repeat("word ", 5000))
	require.Less(t, long, 2000)
	require.Greater(t, long, 1000)
	require.Equal(t, minAnswer, room(strings.Repeat("word ", 50000)))
	cfg.ContextWindow = 0
	require.Equal(t, 4000, room(strings.Repeat("word ", 50000)))
}

func TestNothingToSend(t *testing.T) {
	t.Parallel()
	c, w := clientFor(t, testConfig(), reply(200, ""))
	h := hear(c, Request{System: "s", Messages: []thread.Message{result("a", "ls", "orphan")}})
	e := failure(t, h.err)
	require.Equal(t, ClassBadRequest, e.Class)
	require.False(t, e.Retryable)
	require.Empty(t, w.bodies)
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	require.Equal(t, 0, thread.EstimateTokens(""))
	require.Equal(t, 2, thread.EstimateTokens("abcde"))
	require.Equal(t, 2, thread.EstimateTokens("研究"))
	req := question("abcd")
	require.Greater(t, EstimateRequest(&req), 7*tokensPerTool)
}
