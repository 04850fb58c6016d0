package model

import (
	"encoding/json"

	"deerflow/internal/thread"
)

// wireUsage is what providers report, under all the names in use.
type wireUsage struct {
	PromptTokens     looseInt        `json:"prompt_tokens"`
	CompletionTokens looseInt        `json:"completion_tokens"`
	TotalTokens      looseInt        `json:"total_tokens"`
	InputTokens      looseInt        `json:"input_tokens"`
	OutputTokens     looseInt        `json:"output_tokens"`
	CacheHitTokens   looseInt        `json:"prompt_cache_hit_tokens"`
	PromptDetails    json.RawMessage `json:"prompt_tokens_details"`
	OutputDetails    json.RawMessage `json:"completion_tokens_details"`
}

type wireUsageDetails struct {
	CachedTokens    looseInt `json:"cached_tokens"`
	ReasoningTokens looseInt `json:"reasoning_tokens"`
}

// parseUsage reads a usage object; ok is false when it counts nothing, as the
// usage of all but the last chunk often does (A08).
func parseUsage(raw json.RawMessage) (thread.Usage, bool) {
	w, ok := object[wireUsage](raw)
	if !ok {
		return thread.Usage{}, false
	}
	u := thread.Usage{
		InputTokens:  max(w.PromptTokens.n, w.InputTokens.n, 0),
		OutputTokens: max(w.CompletionTokens.n, w.OutputTokens.n, 0),
	}
	u.TotalTokens = max(w.TotalTokens.n, u.InputTokens+u.OutputTokens)
	prompt, _ := object[wireUsageDetails](w.PromptDetails)
	output, _ := object[wireUsageDetails](w.OutputDetails)
	if n := max(prompt.CachedTokens.n, w.CacheHitTokens.n); n > 0 {
		u.InputTokenDetails = map[string]int{"cache_read": n}
	}
	if n := output.ReasoningTokens.n; n > 0 {
		u.OutputTokenDetails = map[string]int{"reasoning": n}
	}
	return u, u.TotalTokens > 0
}

// What the frame around a message and around a tool costs, and what an image or
// another part without text does.
const (
	tokensPerMessage = 4
	tokensPerTool    = 32
	tokensPerMedia   = 1000
)

// EstimateTokens is about how many tokens a text has: a quarter of one for an
// ASCII character, one for any other. It errs upwards for prose.
func EstimateTokens(text string) int {
	ascii, other := 0, 0
	for _, r := range text {
		if r < 0x80 {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// EstimateMessage is about how many tokens a message has in a request, without
// its reasoning.
func EstimateMessage(m *thread.Message) int {
	total := tokensPerMessage
	for _, part := range m.Content.Parts() {
		if part.Text == "" && part.Raw != nil {
			total += tokensPerMedia
			continue
		}
		total += EstimateTokens(part.Text)
	}
	for _, c := range m.ToolCalls {
		total += EstimateTokens(c.Name) + EstimateTokens(string(c.Args))
	}
	return total + 4*len(m.InvalidToolCalls)
}

// EstimateRequest is about how many tokens a request's prompt has, with tools
// and reasoning.
func EstimateRequest(req *Request) int {
	total := tokensPerMessage + EstimateTokens(req.System)
	for i := range req.Messages {
		total += EstimateMessage(&req.Messages[i]) + EstimateTokens(req.Messages[i].Reasoning())
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		total += tokensPerTool + EstimateTokens(t.Name) + EstimateTokens(t.Description) + EstimateTokens(string(t.Parameters))
	}
	return total
}
