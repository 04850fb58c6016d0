package config

// TokenUsage notes on each answer what its tokens went to.
type TokenUsage struct {
	Enabled bool `yaml:"enabled"` // true
}

func (t *TokenUsage) setDefaults() { *t = TokenUsage{Enabled: true} }
