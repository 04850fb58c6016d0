package config

import "reflect"

// keepUntilRestart gives c those settings of the config before it that a running
// process has built something on, and names the ones that differ.
func (c *Config) keepUntilRestart(before *Config) (ignored []string) {
	keep(&ignored, "log_level", &c.LogLevel, before.LogLevel)
	keep(&ignored, "sandbox", &c.Sandbox, before.Sandbox)
	keep(&ignored, "auth", &c.Auth, before.Auth)
	keep(&ignored, "server", &c.Server, before.Server)
	keep(&ignored, "worker", &c.Worker, before.Worker)
	keep(&ignored, "frontend_url", &c.FrontendURL, before.FrontendURL)
	keep(&ignored, "llm_call.max_concurrent_calls", &c.LLMCall.MaxConcurrentCalls, before.LLMCall.MaxConcurrentCalls)
	return ignored
}

func keep[T any](ignored *[]string, name string, now *T, before T) {
	if !reflect.DeepEqual(*now, before) {
		*ignored = append(*ignored, name)
		*now = before
	}
}
