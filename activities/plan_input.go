package activities

import (
	"deerflow/config"
	"deerflow/internal/agent"
)

// inputRule guards what users say, whatever the configuration; it only bounds it.
func inputRule(cfg *config.Config) *agent.InputRule {
	return &agent.InputRule{MaxChars: cfg.Input.MaxInputLength}
}
