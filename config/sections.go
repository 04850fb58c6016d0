package config

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// laterSections are the sections of DeerFlow and of this program that this
// version knows by name and does not use yet.
func laterSections() []string {
	return []string{
		"logging", "tool_search", "suggestions", "input_polish",
		"tool_progress", "subagents", "acp_agents", "skills",
		"skill_scan", "skill_evolution", "agents_api", "agent_storage",
		"database", "checkpointer", "run_events", "run_ownership", "stream_bridge", "dedupe_storage", "scheduler",
		"mcp_tasks", "channels", "channel_connections", "authorization", "extensions", "plugins",
		"approvals", "notify",
		// Single settings that guides to DeerFlow show at the top level.
		"max_tool_output_tokens", "lazy_init",
	}
}

// topLevelAliases are settings that guides to DeerFlow show at the top level,
// each with the section that it belongs to; the section accepts the same key.
func topLevelAliases() map[string]string {
	return map[string]string{"max_retries": "llm_call", "max_input_length": "input", "max_tokens_per_run": "token_budget"}
}

// root sorts the top-level keys: sections of ours are returned for decoding,
// the others end in one warning a kind.
func (d *decoder) root(n *yaml.Node) *yaml.Node {
	ours := fieldNames(Config{})
	known := append(laterSections(), ours...)
	keep := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line}
	var unknown, later, empty notes
	for _, p := range d.relocate(d.pairs(n, "")) {
		switch {
		case isNull(p.value) && slices.Contains(known, p.name):
			if p.name != "models" { // which has a warning of its own
				empty.add(p.name, p.key.Line, "")
			}
			d.lines[p.name] = p.key.Line
		case slices.Contains(ours, p.name):
			keep.Content = append(keep.Content, p.key, p.value)
		default:
			d.generic(p.value, p.name) // for duplicate keys and numbers that are none
			if slices.Contains(laterSections(), p.name) {
				later.add(p.name, p.key.Line, "")
			} else if !strings.HasPrefix(p.name, "x-") { // x-: room for anchors
				unknown.add(p.name, p.key.Line, didYouMean(p.name, known))
			}
		}
	}
	unknown.warn(d, "unknown sections are ignored")
	later.warn(d, "sections that this version does not use yet are ignored")
	empty.warn(d, "sections without keys, their defaults are used")
	return keep
}

// relocate moves the top-level aliases into the sections that they belong to.
func (d *decoder) relocate(pairs []pair) []pair {
	kept := pairs[:0:0]
	moved := map[string][]pair{}
	for _, p := range pairs {
		if section, ok := topLevelAliases()[p.name]; ok && !isNull(p.value) {
			moved[section] = append(moved[section], p)
			continue
		}
		kept = append(kept, p)
	}
	for section, extra := range moved {
		at := -1
		for i, p := range kept {
			if p.name == section {
				at = i
			}
		}
		if at < 0 || isNull(kept[at].value) {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: section, Line: extra[0].key.Line}
			if at >= 0 {
				kept = append(kept[:at], kept[at+1:]...)
			}
			at = len(kept)
			kept = append(kept, pair{name: section, key: key, value: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: key.Line}})
		}
		target := *resolve(kept[at].value)
		if target.Kind != yaml.MappingNode {
			continue // reported when the section is decoded
		}
		target.Content = append([]*yaml.Node(nil), target.Content...)
		for _, p := range extra {
			target.Content = append(target.Content, p.key, p.value)
		}
		kept[at].value = &target
	}
	return kept
}

// notes gathers keys for one warning that names them all.
type notes struct {
	line  int
	names []string
}

func (n *notes) add(name string, line int, suffix string) {
	if n.line == 0 || line < n.line {
		n.line = line
	}
	n.names = append(n.names, fmt.Sprintf("%s (line %d%s)", name, line, suffix))
}

func (n *notes) warn(d *decoder, what string) {
	if len(n.names) > 0 {
		d.warnf(n.line, "%s: %s", what, strings.Join(n.names, ", "))
	}
}
