package config

import "time"

// Defaults returns the config of an empty file: the demo model, the standard
// tools and every figure at its default.
func Defaults() *Config {
	c := &Config{}
	c.setDefaults()
	c.Models = []Model{DemoModel()}
	c.Tools = StandardTools()
	return c
}

// defaulter is a struct of the config that starts with values of its own, also
// as the element of a list.
type defaulter interface{ setDefaults() }

func (c *Config) setDefaults() {
	c.LogLevel = "info"
	c.MaxRecursionLimit = 1000
	for _, section := range []defaulter{
		&c.Sandbox, &c.LLMCall, &c.CircuitBreaker, &c.LoopDetection, &c.Uploads, &c.Worker, &c.Thread, &c.Clarification, &c.Auth,
		&c.ToolOutput, &c.ReadBeforeWrite, &c.Guardrails,
		&c.Title, &c.TokenUsage, &c.TokenBudget, &c.SafetyFinishReason, &c.Summarization, &c.Memory,
		&c.Skills, &c.ToolSearch, &c.Subagents,
	} {
		section.setDefaults()
	}
}

func (s *Sandbox) setDefaults() {
	*s = Sandbox{
		BashOutputMaxChars:     20_000,
		ReadFileOutputMaxChars: 50_000,
		LsOutputMaxChars:       20_000,
		BashCommandTimeout:     600 * time.Second,
		Image:                  "python:3.13-slim",
		ContainerPrefix:        "deer-flow-sandbox",
		IdleTimeout:            600 * time.Second,
		Replicas:               3,
		Limits:                 SandboxLimits{CPUSeconds: 3600, MemoryMB: 4096, Processes: 512, FileSizeMB: 4096},
	}
}

func (l *LLMCall) setDefaults() {
	*l = LLMCall{
		RetryBaseDelay:      time.Second,
		RetryCapDelay:       8 * time.Second,
		BurstRetryBaseDelay: 5 * time.Second,
	}
}

func (c *CircuitBreaker) setDefaults() {
	*c = CircuitBreaker{FailureThreshold: 5, RecoveryTimeout: time.Minute}
}

func (l *LoopDetection) setDefaults() {
	*l = LoopDetection{
		Enabled:           true,
		WarnThreshold:     3,
		HardLimit:         5,
		WindowSize:        20,
		MaxTrackedThreads: 100,
		ToolFreqWarn:      30,
		ToolFreqHardLimit: 50,
	}
}

func (u *Uploads) setDefaults() {
	*u = Uploads{MaxFiles: 10, MaxFileSize: 50 << 20, MaxTotalSize: 100 << 20}
}

func (w *Worker) setDefaults() { *w = Worker{StickyCache: 200} }

func (t *Thread) setDefaults() {
	*t = Thread{
		ContinueAsNewEvents: 2000,
		ContinueAsNewBytes:  1 << 20,
		IdleTimeout:         24 * time.Hour,
		MaxTurns:            100,
	}
}

func (c *Clarification) setDefaults() { *c = Clarification{OnTimeout: OnTimeoutProceed} }

func (a *Auth) setDefaults() { *a = Auth{Enabled: ToggleAuto} }

func (m *Model) setDefaults() {
	*m = Model{StreamChunkTimeout: 240 * time.Second}
	m.Provider.setDefaults()
}

func (p *Provider) setDefaults() {
	*p = Provider{
		ReasoningContent: ReasoningSend,
		ToolOnlyContent:  ToolOnlyNull,
		StreamOptions:    true,
		Streaming:        true,
		MaxTokensField:   MaxTokensField,
	}
}

// DemoModel returns the built-in model that works offline and without a key: it
// follows a script, and says so.
func DemoModel() Model {
	var m Model
	m.setDefaults()
	m.Name, m.Use, m.Model = UseDemo, UseDemo, UseDemo
	m.DisplayName = "Demo (offline)"
	m.Description = "Scripted answers that need no network and no key."
	return m
}

// StandardTools returns the tools of a config without a tools section: the
// sandbox's own, in the groups that DeerFlow gives them.
func StandardTools() []Tool {
	tool := func(name, group string) Tool { return Tool{Name: name, Group: group, Use: sandboxTools + ":" + name} }
	return []Tool{
		tool("ls", "file:read"),
		tool("read_file", "file:read"),
		tool("glob", "file:read"),
		tool("grep", "file:read"),
		tool("write_file", "file:write"),
		tool("str_replace", "file:write"),
		tool("bash", "bash"),
	}
}
