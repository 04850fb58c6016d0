package config

import (
	"maps"
	"time"
)

// The values of Model.Use.
const (
	UseOpenAI = "openai" // any OpenAI-compatible chat completions endpoint
	UseDemo   = "demo"   // the built-in scripted model
)

// Model is one entry of models[].
type Model struct {
	Name        string `yaml:"name" conf:"required"`   // unique; what users and agents choose by
	DisplayName string `yaml:"display_name,omitempty"` // for people; the name when empty
	Description string `yaml:"description,omitempty"`  // for people
	// Use is UseOpenAI or UseDemo. Class paths of DeerFlow that speak the
	// OpenAI dialect are accepted and replaced.
	Use string `yaml:"use" conf:"required"`
	// Model is the provider's own name of the model, as it is sent.
	Model string `yaml:"model" conf:"alias=model_name"`

	// APIKey is sent as a bearer token; it belongs into a variable.
	APIKey Secret `yaml:"api_key,omitempty" conf:"alias=openai_api_key"`
	// BaseURL ends before "/chat/completions"; empty means OpenAI's own.
	BaseURL string `yaml:"base_url,omitempty" conf:"alias=api_base|openai_api_base"`
	// Organization is sent in the OpenAI-Organization header.
	Organization string `yaml:"organization,omitempty" conf:"alias=openai_organization"`

	// Temperature and TopP are sent when they are not nil: 0 is really sent.
	Temperature *float64 `yaml:"temperature,omitempty" conf:"min=0"`
	TopP        *float64 `yaml:"top_p,omitempty" conf:"min=0,max=1"`
	// MaxTokens bounds the answer; 0 leaves it to the provider.
	MaxTokens int `yaml:"max_tokens,omitempty" conf:"min=1"`

	// Timeout bounds a whole call; 0 leaves that to StreamChunkTimeout.
	Timeout time.Duration `yaml:"timeout,omitempty" conf:"alias=request_timeout|default_request_timeout"`
	// StreamChunkTimeout is the longest silence within a stream (240 s); 0
	// allows any.
	StreamChunkTimeout time.Duration `yaml:"stream_chunk_timeout"`
	// ContextWindow is prompt and answer together, in tokens; 0 is unknown.
	ContextWindow int `yaml:"context_window,omitempty" conf:"min=1"`

	// SupportsThinking lets runs switch the model's thinking on and off (false).
	SupportsThinking bool `yaml:"supports_thinking"`
	// SupportsVision lets the model look at images (false).
	SupportsVision bool `yaml:"supports_vision"`
	// SupportsReasoningEffort lets runs choose how hard the model thinks (false).
	SupportsReasoningEffort bool `yaml:"supports_reasoning_effort"`
	// ReasoningEffort is sent when the model supports it and the run asks for
	// nothing else.
	ReasoningEffort string `yaml:"reasoning_effort,omitempty"`

	// WhenThinkingEnabled and WhenThinkingDisabled are merged into the request
	// body; Thinking is short for when_thinking_enabled.thinking. ThinkingBody
	// puts the three together.
	WhenThinkingEnabled  map[string]any `yaml:"when_thinking_enabled,omitempty"`
	WhenThinkingDisabled map[string]any `yaml:"when_thinking_disabled,omitempty"`
	Thinking             map[string]any `yaml:"thinking,omitempty"`

	// Provider holds what this endpoint does differently from others.
	Provider Provider `yaml:"provider"`

	// Extra holds all other keys of the entry, to be merged into the request
	// body. The contents of extra, extra_body and model_kwargs are in it.
	Extra map[string]any `yaml:"extra,omitempty" conf:"rest"`
}

// The values of Provider's fields.
const (
	ReasoningSend        = "send"        // as it was received
	ReasoningOmit        = "omit"        // never
	ReasoningPlaceholder = "placeholder" // as it was received, one space when there was none

	ToolOnlyNull  = "null"  // "content": null
	ToolOnlyEmpty = "empty" // "content": ""
	ToolOnlyOmit  = "omit"  // no content key

	MaxTokensField           = "max_tokens"
	MaxCompletionTokensField = "max_completion_tokens"
)

// Provider are the differences between OpenAI-compatible endpoints.
type Provider struct {
	// ReasoningContent says how earlier reasoning goes back (ReasoningSend).
	ReasoningContent string `yaml:"reasoning_content" conf:"enum=send|omit|placeholder"`
	// ToolOnlyContent is the content of an assistant message that has tool
	// calls and no text (ToolOnlyNull).
	ToolOnlyContent string `yaml:"tool_only_content" conf:"enum=null|empty|omit"`
	// StreamOptions asks for usage at the end of a stream (true).
	StreamOptions bool `yaml:"stream_options"`
	// Streaming is off for endpoints that cannot stream tool calls (true).
	Streaming bool `yaml:"streaming"`
	// ParallelToolCalls is sent when it is not nil.
	ParallelToolCalls *bool `yaml:"parallel_tool_calls,omitempty"`
	// MaxTokensField is the body's name for max_tokens (max_tokens).
	MaxTokensField string `yaml:"max_tokens_field" conf:"enum=max_tokens|max_completion_tokens"`
	// ExtraHeaders are sent with every request.
	ExtraHeaders map[string]Secret `yaml:"extra_headers,omitempty"`
}

// ThinkingBody returns what thinking switched on or off adds to the request
// body. The caller may change the map, not the values in it.
func (m Model) ThinkingBody(enabled bool) map[string]any {
	if !enabled {
		return maps.Clone(m.WhenThinkingDisabled)
	}
	body := maps.Clone(m.WhenThinkingEnabled)
	if m.Thinking == nil {
		return body
	}
	if body == nil {
		body = map[string]any{}
	}
	if own, ok := body["thinking"].(map[string]any); ok {
		merged := maps.Clone(own)
		maps.Copy(merged, m.Thinking)
		body["thinking"] = merged
		return body
	}
	body["thinking"] = m.Thinking
	return body
}

// unusedKeys are settings of DeerFlow's client library that are no part of a
// request and must not be passed on in its body.
func (*Model) unusedKeys() []string {
	return []string{
		"max_retries", "use_responses_api", "output_version", "pricing", "cumulative_stream_usage",
		"read_timeout", "connect_timeout", "write_timeout", "pool_timeout", "verbose", "cache", "tags",
		"http_client", "http_async_client", "openai_proxy", "tiktoken_model_name", "rate_limiter",
		"include_response_headers", "disabled_params", "disable_streaming",
	}
}
