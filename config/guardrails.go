package config

import (
	"maps"
	"slices"
	"strings"
)

// GuardrailAllowlist is the provider that allows and denies tools by name: the
// only one in this version.
const GuardrailAllowlist = "allowlist"

// Guardrails asks a provider before each tool call.
type Guardrails struct {
	Enabled bool `yaml:"enabled"` // false
	// FailClosed denies calls about which the provider cannot decide (true).
	FailClosed bool `yaml:"fail_closed"`
	// Passport names the agent to providers that ask for it; the allowlist does
	// not.
	Passport string `yaml:"passport,omitempty"`
	// Provider decides; without one nothing is asked.
	Provider *GuardrailProvider `yaml:"provider,omitempty"`
}

// GuardrailProvider names a provider.
type GuardrailProvider struct {
	// Use is allowlist. DeerFlow's class path of its AllowlistProvider is accepted
	// too.
	Use    string          `yaml:"use" conf:"required"`
	Config GuardrailConfig `yaml:"config,omitempty"`
}

// GuardrailConfig are the lists of the allowlist. Names are exact.
type GuardrailConfig struct {
	// AllowedTools may be called; a list that is missing or null is all tools, an
	// empty one none.
	AllowedTools []string `yaml:"allowed_tools,omitempty"`
	// DeniedTools may not, even if they are allowed.
	DeniedTools []string `yaml:"denied_tools,omitempty"`
	// Other are the settings of other providers.
	Other map[string]any `yaml:"-" conf:"rest"`
}

func (g *Guardrails) setDefaults() { *g = Guardrails{FailClosed: true} }

func (d *decoder) finishGuardrails(g *Guardrails) {
	p := g.Provider
	if p == nil && g.Enabled {
		d.warnf(d.line("guardrails", "enabled"), "guardrails.enabled: there is no provider, so every call is allowed")
	}
	if p == nil || p.Use == "" {
		return
	}
	const at = "guardrails.provider"
	_, class, ok := strings.Cut(p.Use, ":")
	if p.Use != GuardrailAllowlist && (!ok || class != "AllowlistProvider") {
		if g.Enabled {
			d.errorf(d.line(at, "use"), "%s.use: unknown provider %s; this version has: %s",
				at, d.given(at+".use", p.Use), GuardrailAllowlist)
		}
		return
	}
	p.Use = GuardrailAllowlist
	// A misspelt list would allow what it was meant to deny.
	known := fieldNames(p.Config)
	for _, key := range slices.Sorted(maps.Keys(p.Config.Other)) {
		d.errorf(d.line(at+".config", key), "%s.config: unknown key %s; known keys: %s", at, key, strings.Join(known, ", "))
	}
}
