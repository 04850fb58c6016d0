package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	openai "github.com/sashabaranov/go-openai"

	"deerflow/internal/thread"
)

// field is one key of the body.
type field struct {
	key   string
	value any
}

// body is the request in the making. Keys keep their order and messages come
// late, so that two requests of a thread begin with the same bytes.
type body struct {
	fields []field
}

func (b *body) set(key string, value any) {
	for i := range b.fields {
		if b.fields[i].key == key {
			b.fields[i].value = value
			return
		}
	}
	b.fields = append(b.fields, field{key, value})
}

// merge adds configured keys; maps are merged into maps. The two names under
// which DeerFlow's client nests body fields are opened.
func (b *body) merge(extra map[string]any) {
	for _, key := range sortedKeys(extra) {
		value := extra[key]
		if inner, ok := value.(map[string]any); ok {
			if key == "extra_body" || key == "model_kwargs" {
				b.merge(inner)
				continue
			}
			value = mergeMaps(b.mapAt(key), inner)
		}
		b.set(key, value)
	}
}

func (b *body) mapAt(key string) map[string]any {
	for _, f := range b.fields {
		if f.key == key {
			m, _ := f.value.(map[string]any)
			return m
		}
	}
	return nil
}

func mergeMaps(base, over map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(over))
	for k, v := range base {
		out[k] = v
	}
	for k, v := range over {
		inner, isMap := v.(map[string]any)
		below, wasMap := out[k].(map[string]any)
		if isMap && wasMap {
			v = mergeMaps(below, inner)
		}
		out[k] = v
	}
	return out
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// encode writes the body as one JSON object.
func (b *body) encode() ([]byte, error) {
	var out bytes.Buffer
	for i, f := range b.fields {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		out.WriteByte(sep)
		if err := writeJSON(&out, f.key); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := writeJSON(&out, f.value); err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// writeJSON writes without escaping what only HTML needs escaped.
func writeJSON(out *bytes.Buffer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the newline
	return nil
}

// encodeRequest makes the body of a request. What the client has learned about
// its provider is applied.
func encodeRequest(cfg *Config, learned quirks, req *Request) ([]byte, error) {
	history := Repair(req.Messages)
	messages, err := wireMessages(cfg, learned, req, history)
	if err != nil {
		return nil, err
	}
	thinking := cfg.Thinking && req.Thinking
	b := &body{}
	b.set("model", cfg.Model)
	b.set("stream", cfg.Flags.streaming())
	if cfg.Flags.streaming() && learned.streamOptions(cfg.Flags) {
		b.set("stream_options", openai.StreamOptions{IncludeUsage: true})
	}
	if cfg.Temperature != nil {
		b.set("temperature", *cfg.Temperature)
	}
	if cfg.TopP != nil {
		b.set("top_p", *cfg.TopP)
	}
	if cfg.Effort && req.Effort != "" {
		b.set("reasoning_effort", req.Effort)
	}
	if n := answerRoom(cfg, req, history); n > 0 {
		b.set(learned.maxTokensField(cfg.Flags), n)
	}
	b.merge(cfg.Extra)
	if cfg.Thinking {
		b.merge(thinkingBody(cfg, thinking))
	}
	setTools(b, learned, cfg, req, history)
	b.set("messages", messages)
	return b.encode()
}

const (
	// minAnswer is the least room that is asked for, however full the window is.
	minAnswer = 256
	// windowMargin is the part of the prompt by which the estimate may err.
	windowMargin = 32
)

// answerRoom is how many tokens the answer may have: what is configured, or the
// room that the prompt leaves in the window (V10); 0 for no limit.
func answerRoom(cfg *Config, req *Request, history []thread.Message) int {
	if cfg.MaxTokens == 0 || cfg.ContextWindow == 0 {
		return cfg.MaxTokens
	}
	repaired := *req
	repaired.Messages = history
	prompt := EstimateRequest(&repaired)
	room := cfg.ContextWindow - prompt - prompt/windowMargin
	return min(cfg.MaxTokens, max(room, minAnswer))
}

// thinkingBody is what thinking switched on or off adds to the body. Without a
// configured way to switch it off, the usual switches are turned.
func thinkingBody(cfg *Config, on bool) map[string]any {
	if on {
		return cfg.WhenThinkingEnabled
	}
	if cfg.WhenThinkingDisabled != nil {
		return cfg.WhenThinkingDisabled
	}
	return switchedOff(cfg.WhenThinkingEnabled)
}

func switchedOff(on map[string]any) map[string]any {
	off := map[string]any{}
	for key, value := range on {
		switch v := value.(type) {
		case bool:
			if key == "enable_thinking" || key == "thinking" {
				off[key] = false
			}
		case map[string]any:
			if key == "thinking" && v["type"] != nil {
				off[key] = map[string]any{"type": "disabled"}
			} else if inner := switchedOff(v); len(inner) > 0 {
				off[key] = inner
			}
		}
	}
	return off
}

var errNothingToSend = errors.New("the history has no message that can be sent")
