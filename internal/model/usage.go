package model

import (
	"encoding/json"

	"deerflow/internal/agent"
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

// tokensPerTool is what the frame around a tool costs.
const tokensPerTool = 32

// EstimateRequest is about how many tokens a request's prompt has, with tools
// and reasoning.
func EstimateRequest(req *Request) int {
	total := thread.TokensPerMessage + thread.EstimateTokens(req.System)
	for i := range req.Messages {
		total += req.Messages[i].Weight()
	}
	return total + EstimateTools(req.Tools)
}

// EstimateTools is about how many tokens the schemas of tools have in a request.
func EstimateTools(tools []agent.ToolSpec) int {
	total := 0
	for i := range tools {
		t := &tools[i]
		total += tokensPerTool + thread.EstimateTokens(t.Name) + thread.EstimateTokens(t.Description) + thread.EstimateTokens(string(t.Parameters))
	}
	return total
}
