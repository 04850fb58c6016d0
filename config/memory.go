package config

// Memory is what is remembered of a user beyond a thread.
type Memory struct {
	// Enabled: conversations are remembered (true).
	Enabled bool `yaml:"enabled"`
	// InjectionEnabled: a thread begins with what is remembered (true).
	InjectionEnabled bool `yaml:"injection_enabled"`
}

func (m *Memory) setDefaults() { *m = Memory{Enabled: true, InjectionEnabled: true} }

func (*Memory) unusedKeys() []string {
	return []string{
		"mode", "manager_class", "shutdown_flush_timeout_seconds", "backend_config", "storage_path", "debounce_seconds",
		"queue_max_depth", "model", "model_name", "max_facts", "fact_confidence_threshold", "fact_eviction_policy",
		"max_injection_tokens", "token_counting", "guaranteed_categories", "guaranteed_token_budget",
	}
}
