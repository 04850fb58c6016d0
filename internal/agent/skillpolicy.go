package agent

import "slices"

// frameworkTools may be called under every skill policy (spec 4.16): they find
// things out, and reveal no tool that a policy denies.
var frameworkTools = []string{"describe_skill", "read_file", "review_skill_package", ToolSearch}

// ToolSearch is the tool that finds deferred tools and promotes them.
const ToolSearch = "tool_search"

// ToolPolicy says which tools may be called. The zero value allows all.
type ToolPolicy struct {
	Restricted bool
	Allowed    []string // beside the framework's own tools
}

// Allows reports whether a tool may be called.
func (p ToolPolicy) Allows(tool string) bool {
	return !p.Restricted || slices.Contains(frameworkTools, tool) || slices.Contains(p.Allowed, tool)
}

// SkillPolicy is the policy of the active skills among the enabled ones of a
// plan: the union of the tools that they declare. A skill that was activated with
// a slash counts alone; otherwise all that the model has read. Skills that are
// only enabled restrict nothing, and neither do active ones of which none
// declares tools. An active skill that is not enabled any more is skipped; when
// none is left, only the framework's tools may be called.
func SkillPolicy(enabled []SkillRule, activated string, read []string) ToolPolicy {
	active := read
	if activated != "" {
		active = []string{activated}
	}
	var policy ToolPolicy
	known := false
	for _, path := range active {
		at := slices.IndexFunc(enabled, func(s SkillRule) bool { return s.Path == path })
		if at < 0 {
			continue
		}
		known = true
		if enabled[at].Declared {
			policy.Restricted = true
			policy.Allowed = append(policy.Allowed, enabled[at].Allowed...)
		}
	}
	if len(active) > 0 && !known {
		policy.Restricted = true
	}
	return policy
}
