package api

import (
	"encoding/json"
	"regexp"

	"deerflow/internal/thread"
)

const (
	defaultRecursion = 100
	maxRecursion     = 1000
	// maxOption is how many bytes an option may have that is a word: options
	// travel with the run.
	maxOption = 64

	// How many sub-agents a caller may ask for: at once, and in a run.
	mostSubagents      = 4
	mostSubagentsTotal = 50
)

var contextAgent = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// parseOptions reads what the caller chooses for the run. The keys may stand in
// config.configurable, in config.context and in context; the later place wins.
// Keys that no option has are left alone: pages send thread ids and more.
func parseOptions(body object, o *thread.RunOptions) {
	config := body.child("config")
	merged := object{loc: []any{"body", "context"}, raw: map[string]json.RawMessage{}, errs: body.errs}
	for _, place := range []object{config.child("configurable"), config.child("context"), body.child("context")} {
		for key := range place.raw {
			if raw := place.get(key); raw != nil {
				merged.raw[key] = raw
			}
		}
	}
	o.Model = merged.text("model_name")
	if o.Model == "" {
		o.Model = merged.text("model")
	}
	o.ThinkingEnabled = merged.flag("thinking_enabled")
	o.ReasoningEffort = merged.word("reasoning_effort")
	if off := merged.flag("disable_clarification"); off != nil {
		o.DisableClarification = *off
	}
	if name := merged.word("agent_name"); name != "" {
		if !contextAgent.MatchString(name) {
			merged.fault("agent_name", "string_pattern_mismatch", "An agent name has letters, digits and '-' only")
		}
		o.AgentName = name
	}
	if on := merged.flag("is_plan_mode"); on != nil {
		o.PlanMode = *on
	}
	if on := merged.flag("subagent_enabled"); on != nil {
		o.Subagents = *on
	}
	o.MaxSubagents = merged.count("max_concurrent_subagents", mostSubagents)
	o.MaxSubagentsTotal = merged.count("max_total_subagents", mostSubagentsTotal)
	o.RecursionLimit = recursionLimit(config)
	o.TimeZone = timeZone(merged)
	o.Extra = extraOptions(merged)
}

// count reads a number of things, between 1 and most; 0 when nothing is said.
func (o object) count(key string, most int) int {
	var n int
	if !o.decode(key, "int_type", "integer", &n) {
		return 0
	}
	return min(max(n, 1), most)
}

// recursionLimit reads how many turns a run may take: 0 when nothing is said,
// the default for nonsense, at most 1000.
func recursionLimit(config object) int {
	raw := config.get("recursion_limit")
	if raw == nil {
		return 0
	}
	var n int
	if err := json.Unmarshal(raw, &n); err != nil || n <= 0 {
		return defaultRecursion
	}
	return min(n, maxRecursion)
}

// extraOptions checks the options that later stages of a run look at and keeps
// them as they were sent.
func extraOptions(merged object) json.RawMessage {
	kept := map[string]json.RawMessage{}
	keep := func(key string, valid bool) {
		if valid {
			kept[key] = merged.raw[key]
		}
	}
	keep("mode", merged.word("mode") != "")
	keep("is_bootstrap", merged.flag("is_bootstrap") != nil)
	if len(kept) == 0 {
		return nil
	}
	data, _ := json.Marshal(kept) // every value was decoded before
	return data
}
