package config

import (
	"maps"
	"slices"
	"strings"
)

// finishModels puts in the demo model when there is none and settles what one
// field of an entry means for another.
func (d *decoder) finishModels(c *Config) {
	if len(c.Models) == 0 {
		c.Models = []Model{DemoModel()}
		if len(d.errs) == 0 {
			d.warnf(d.lines["models"], "models: none is configured, so the built-in demo model is used: it works offline and follows a script")
		}
		return
	}
	first := map[string]int{}
	for i := range c.Models {
		m, path := &c.Models[i], index("models", i)
		if j, dup := first[m.Name]; dup && m.Name != "" {
			d.errorf(d.line(path, "name"), "%s.name: %q is already the name of models[%d] (line %d)",
				path, m.Name, j, d.line(index("models", j), "name"))
		}
		first[m.Name] = i
		d.finishModel(c, m, path)
	}
}

func (d *decoder) finishModel(c *Config, m *Model, path string) {
	d.liftExtra(m, path)
	d.finishUse(m, path)
	d.checkURL(path+".base_url", m.BaseURL)
	d.checkHeaders(m.Provider.ExtraHeaders, path+".provider.extra_headers")
	m.WhenThinkingEnabled = flattenBody(m.WhenThinkingEnabled)
	m.WhenThinkingDisabled = flattenBody(m.WhenThinkingDisabled)
	d.warnTypos(path, "is sent to the provider as it is", m.Extra, fieldNames(*m), bodyParameters())
	switch m.Use {
	case UseDemo:
		if m.Model == "" {
			m.Model = UseDemo
		}
	case UseOpenAI:
		if m.Model == "" && d.lines[path+".model"] == 0 {
			d.errorf(d.line(path), "%s: model is missing: the provider's own name of the model", path)
		}
		d.finishKey(c, m, path)
	}
}

// finishKey falls back to OpenAI's own variable for OpenAI's own endpoint, never
// for another host, which has no business with that key.
func (d *decoder) finishKey(c *Config, m *Model, path string) {
	if m.APIKey != "" || m.BaseURL != "" {
		return
	}
	if key, ok := c.Getenv("OPENAI_API_KEY"); ok && key != "" && d.lines[path+".api_key"] == 0 {
		m.APIKey = Secret(key)
		return
	}
	if len(d.errs) == 0 {
		d.warnf(d.line(path, "api_key"), "%s.api_key is empty: OpenAI will refuse the calls", path)
	}
}

// liftExtra moves the keys of the entry that stand for something else: maps
// that hold further body fields, and settings with a field of their own.
func (d *decoder) liftExtra(m *Model, path string) {
	for _, name := range []string{"extra", "extra_body", "model_kwargs"} {
		if value, ok := m.Extra[name]; ok {
			delete(m.Extra, name)
			body, isMap := value.(map[string]any)
			if !isMap {
				d.errorf(d.line(path, name), "%s.%s: want keys and values", path, name)
				continue
			}
			maps.Copy(m.Extra, body)
		}
	}
	lift(d, m, path, "max_completion_tokens", "max_tokens", func(n int) bool {
		m.MaxTokens, m.Provider.MaxTokensField = n, MaxCompletionTokensField
		return n > 0
	})
	lift(d, m, path, "streaming", "provider.streaming", func(on bool) bool { m.Provider.Streaming = on; return true })
	lift(d, m, path, "stream_usage", "provider.stream_options", func(on bool) bool { m.Provider.StreamOptions = on; return true })
	lift(d, m, path, "parallel_tool_calls", "provider.parallel_tool_calls", func(on bool) bool {
		m.Provider.ParallelToolCalls = &on
		return true
	})
	lift(d, m, path, "default_headers", "provider.extra_headers", func(headers map[string]any) bool {
		m.Provider.ExtraHeaders = map[string]Secret{}
		for name, value := range headers {
			text, ok := value.(string)
			if !ok {
				return false
			}
			m.Provider.ExtraHeaders[name] = Secret(text)
		}
		return true
	})
	if len(m.Extra) == 0 {
		m.Extra = nil
	}
}

// lift takes one extra key out of the entry and hands its value to set. Having
// the key and its own field as well is an error.
func lift[T any](d *decoder, m *Model, path, key, field string, set func(T) bool) {
	value, ok := m.Extra[key]
	if !ok {
		return
	}
	delete(m.Extra, key)
	if line, given := d.lines[path+"."+field]; given {
		d.errorf(d.line(path, key), "%s: %s and %s (line %d) mean the same; keep one", path, key, field, line)
		return
	}
	if typed, ok := value.(T); !ok || !set(typed) {
		d.errorf(d.line(path, key), "%s.%s: the value does not fit", path, key)
	}
}

// flattenBody replaces extra_body and model_kwargs, which belong to DeerFlow's
// client library, by what is in them.
func flattenBody(body map[string]any) map[string]any {
	for _, name := range []string{"extra_body", "model_kwargs"} {
		if inner, ok := body[name].(map[string]any); ok {
			delete(body, name)
			maps.Copy(body, inner)
		}
	}
	return body
}

func (d *decoder) checkHeaders(headers map[string]Secret, path string) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		switch {
		case !isToken(name):
			d.errorf(d.line(path), "%s: %q is not a header name", path, name)
		case strings.ContainsAny(value.Reveal(), "\r\n\x00"):
			d.errorf(d.line(path, name), "%s.%s: a header value must be one line", path, name)
		}
	}
}

// isToken reports whether s is a token of RFC 9110, which names of headers are.
func isToken(s string) bool {
	for _, r := range s {
		alnum := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return s != ""
}

// warnTypos warns of free keys that look like a misspelt one of ours.
func (d *decoder) warnTypos(path, fate string, extra map[string]any, ours, known []string) {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if slices.Contains(known, key) || slices.Contains(ours, key) {
			continue
		}
		if meant := suggest(key, ours); meant != "" {
			d.warnf(d.line(path, key), "%s.%s %s; did you mean %s?", path, key, fate, meant)
		}
	}
}

// bodyParameters are fields of a request that resemble ours and are meant.
func bodyParameters() []string {
	return []string{
		"top_k", "min_p", "n", "seed", "stop", "user", "store", "logprobs", "top_logprobs", "logit_bias",
		"presence_penalty", "frequency_penalty", "repetition_penalty", "response_format", "service_tier", "metadata",
		"modalities", "prediction", "verbosity", "tool_choice", "enable_thinking", "thinking_budget", "reasoning",
		"chat_template_kwargs", "max_new_tokens", "min_tokens", "provider_options", "models", "safety_settings",
	}
}
