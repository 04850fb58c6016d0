package config

// ToolSearch hides the schemas of tools that come from MCP servers until the
// model has looked for them.
type ToolSearch struct {
	Enabled bool `yaml:"enabled"` // false
	// AutoPromoteTopK is how many tools a routing hint makes callable without a
	// search (3).
	AutoPromoteTopK int `yaml:"auto_promote_top_k" conf:"min=0,max=5"`
}

func (t *ToolSearch) setDefaults() { *t = ToolSearch{AutoPromoteTopK: 3} }
