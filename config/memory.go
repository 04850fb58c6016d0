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
		"max_injection_tokens", "token_counting", "guaranteed_categories", "guaranteed_token_budget", "retrieval_adapter",
		"staleness_review_enabled", "staleness_age_days", "staleness_min_candidates", "staleness_max_removals_per_cycle",
		"staleness_protected_categories", "staleness_max_lifetime_multiplier", "staleness_max_extension_days",
		"consolidation_enabled", "consolidation_min_facts", "consolidation_max_groups_per_cycle", "consolidation_max_sources",
	}
}
