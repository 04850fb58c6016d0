package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

// defaultBaseURL is OpenAI's own endpoint.
const defaultBaseURL = "https://api.openai.com/v1"

// Config is one configured model. It holds no secret, so its JSON may be
// stored with the plan of a run; the key and the headers are in [Options].
type Config struct {
	// Name is the configured name, as users and plans know it.
	Name string `json:"name"`
	// Model is the provider's own name of the model.
	Model string `json:"model"`
	// BaseURL ends before "/chat/completions"; empty is OpenAI's own.
	BaseURL string `json:"base_url,omitempty"`

	// Temperature and TopP are sent when they are not nil, 0 as well (A26).
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	// MaxTokens bounds the answer in tokens; 0 leaves it to the provider.
	MaxTokens int `json:"max_tokens,omitempty"`
	// ContextWindow is prompt and answer together in tokens; 0 is unknown. When
	// it is known, MaxTokens is lowered to the room that is left.
	ContextWindow int `json:"context_window,omitempty"`

	// Timeout bounds one call from start to end; 0 does not.
	Timeout time.Duration `json:"timeout,omitempty"`
	// ChunkTimeout is the longest silence of a stream, from the request on; any
	// byte ends a silence (A04, A25). 0 allows any.
	ChunkTimeout time.Duration `json:"chunk_timeout,omitempty"`

	// Thinking says that the model can think, Effort that it takes a
	// reasoning_effort.
	Thinking bool `json:"thinking,omitempty"`
	Effort   bool `json:"effort,omitempty"`
	// WhenThinkingEnabled and WhenThinkingDisabled are merged into the body of
	// a model that can think. Without the latter, the usual switches found in
	// the former are turned off.
	WhenThinkingEnabled  map[string]any `json:"when_thinking_enabled,omitempty"`
	WhenThinkingDisabled map[string]any `json:"when_thinking_disabled,omitempty"`
	// Extra is merged into the body.
	Extra map[string]any `json:"extra,omitempty"`

	// Flags are what this endpoint does differently from others.
	Flags Flags `json:"flags"`
}

// The values of [Flags.ReasoningContent].
const (
	// ReasoningSend gives reasoning back to the model that wrote it, and to
	// every model while it thinks; a thinking model gets one space where a
	// message with tool calls has none (A18). It is the default.
	ReasoningSend = "send"
	// ReasoningOmit never gives reasoning back.
	ReasoningOmit = "omit"
	// ReasoningPlaceholder treats the model as one that always thinks.
	ReasoningPlaceholder = "placeholder"
)

// The values of [Flags.ToolOnlyContent].
const (
	ToolOnlyNull  = "null"  // "content": null, the default
	ToolOnlyEmpty = "empty" // "content": ""
	ToolOnlyOmit  = "omit"  // no content key
)

// The values of [Flags.MaxTokensField].
const (
	MaxTokens           = "max_tokens" // the default
	MaxCompletionTokens = "max_completion_tokens"
)

// Flags are the differences between OpenAI-compatible endpoints. Zero values
// are the usual behaviour.
type Flags struct {
	// ReasoningContent says how earlier reasoning goes back.
	ReasoningContent string `json:"reasoning_content,omitempty"`
	// ReasoningField is the field it goes back in; empty is reasoning_content.
	ReasoningField string `json:"reasoning_field,omitempty"`
	// ToolOnlyContent is the content of an assistant message that has calls and
	// no text (A19).
	ToolOnlyContent string `json:"tool_only_content,omitempty"`
	// StreamOptions asks for usage at the end of a stream; nil is yes (A08).
	StreamOptions *bool `json:"stream_options,omitempty"`
	// Streaming is false for endpoints that cannot stream; nil is yes.
	Streaming *bool `json:"streaming,omitempty"`
	// ParallelToolCalls is sent when it is not nil.
	ParallelToolCalls *bool `json:"parallel_tool_calls,omitempty"`
	// MaxTokensField is the body's name for Config.MaxTokens.
	MaxTokensField string `json:"max_tokens_field,omitempty"`
}

func (f Flags) streaming() bool { return f.Streaming == nil || *f.Streaming }

// check reports everything that would only fail late, in the middle of a run.
func (c *Config) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Model == "" {
		bad("model: the provider's own name of the model is missing")
	}
	if _, err := c.endpoint(); err != nil {
		errs = append(errs, err)
	}
	for name, value := range map[string]*float64{"temperature": c.Temperature, "top_p": c.TopP} {
		if value != nil && (math.IsNaN(*value) || math.IsInf(*value, 0)) {
			bad("%s: %v is not a finite number", name, *value)
		}
	}
	if c.MaxTokens < 0 || c.ContextWindow < 0 || c.Timeout < 0 || c.ChunkTimeout < 0 {
		bad("max_tokens, context_window, timeout and chunk_timeout must not be negative")
	}
	errs = append(errs, c.checkBodies()...)
	errs = append(errs, c.Flags.check()...)
	return errors.Join(errs...)
}

// checkBodies looks at the maps that are merged into the request.
func (c *Config) checkBodies() []error {
	var errs []error
	bodies := []struct {
		name string
		body map[string]any
	}{
		{"extra", c.Extra},
		{"when_thinking_enabled", c.WhenThinkingEnabled},
		{"when_thinking_disabled", c.WhenThinkingDisabled},
	}
	for _, b := range bodies {
		if _, err := json.Marshal(b.body); err != nil {
			errs = append(errs, fmt.Errorf("%s: cannot be sent as JSON: %w", b.name, err))
		}
		for _, owned := range []string{"messages", "tools", "stream"} {
			if _, taken := b.body[owned]; taken {
				errs = append(errs, fmt.Errorf("%s.%s: this field of the request is not configurable", b.name, owned))
			}
		}
	}
	return errs
}

func (f Flags) check() []error {
	var errs []error
	enum := func(name, value string, allowed ...string) {
		for _, a := range append(allowed, "") {
			if value == a {
				return
			}
		}
		errs = append(errs, fmt.Errorf("%s: %q is not one of %s", name, value, strings.Join(allowed, ", ")))
	}
	enum("reasoning_content", f.ReasoningContent, ReasoningSend, ReasoningOmit, ReasoningPlaceholder)
	enum("reasoning_field", f.ReasoningField, "reasoning_content", "reasoning")
	enum("tool_only_content", f.ToolOnlyContent, ToolOnlyNull, ToolOnlyEmpty, ToolOnlyOmit)
	enum("max_tokens_field", f.MaxTokensField, MaxTokens, MaxCompletionTokens)
	return errs
}

// endpoint is the URL that requests go to.
func (c *Config) endpoint() (string, error) {
	base := c.BaseURL
	if base == "" {
		base = defaultBaseURL
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", errors.New("base_url: want an http or https URL such as " + defaultBaseURL)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, "/chat/completions") {
		u.Path += "/chat/completions"
	}
	u.RawPath = ""
	return u.String(), nil
}
