package config

import (
	"log/slog"
	"strings"
	"time"
)

// CurrentVersion is the config_version whose names and meanings this package
// knows: the schema number of DeerFlow's own file.
const CurrentVersion = 34

// Config is a whole config.yaml with every default filled in. The yaml tags are
// the names in the file; conf tags hold the checks (see fieldsOf).
type Config struct {
	// Path is the file that was read; empty when there was none.
	Path string `yaml:"-" json:"-"`

	// Version is the schema number of the file. One that is lower than ours is a
	// warning, none at all is taken as current.
	Version int `yaml:"config_version,omitempty" conf:"min=0"`
	// LogLevel is the least severe level that is logged (info).
	LogLevel LogLevel `yaml:"log_level"`

	// Models are the chat models; the first is the default. Never empty.
	Models []Model `yaml:"models"`
	// Tools are the configured tools in order; the first of a name wins.
	Tools []Tool `yaml:"tools"`
	// ToolGroups are declared for user interfaces; nothing checks them.
	ToolGroups []ToolGroup `yaml:"tool_groups,omitempty"`

	Sandbox        Sandbox        `yaml:"sandbox"`
	LLMCall        LLMCall        `yaml:"llm_call"`
	CircuitBreaker CircuitBreaker `yaml:"circuit_breaker"`
	LoopDetection  LoopDetection  `yaml:"loop_detection"`
	Uploads        Uploads        `yaml:"uploads"`
	Export         Export         `yaml:"export"`

	Input         Input         `yaml:"input"`
	Summarization Summarization `yaml:"summarization"`
	Memory        Memory        `yaml:"memory"`
	Skills        Skills        `yaml:"skills"`
	ToolSearch    ToolSearch    `yaml:"tool_search"`
	Subagents     Subagents     `yaml:"subagents"`

	ToolOutput      ToolOutput      `yaml:"tool_output"`
	ReadBeforeWrite ReadBeforeWrite `yaml:"read_before_write"`
	Guardrails      Guardrails      `yaml:"guardrails"`

	Title              Title              `yaml:"title"`
	TokenUsage         TokenUsage         `yaml:"token_usage"`
	TokenBudget        TokenBudget        `yaml:"token_budget"`
	SafetyFinishReason SafetyFinishReason `yaml:"safety_finish_reason"`

	// MaxRecursionLimit is the highest recursion_limit that a client may ask
	// for (1000); higher values are clamped to it.
	MaxRecursionLimit int `yaml:"max_recursion_limit" conf:"min=1"`

	Worker        Worker        `yaml:"worker"`
	Thread        Thread        `yaml:"thread"`
	Clarification Clarification `yaml:"clarification"`
	Auth          Auth          `yaml:"auth"`
	Server        Server        `yaml:"server"`

	// FrontendURL is where "/" leads instead of the built-in page: an http or
	// https address, empty for none.
	FrontendURL string `yaml:"frontend_url,omitempty"`

	lookup  Lookup
	origins origins
}

// Lookup returns the value of an environment variable and whether it is set,
// as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// Getenv looks a variable up where the config's own $VAR values come from: the
// real environment first, then the .env file beside the config.
func (c *Config) Getenv(name string) (string, bool) {
	if c.lookup == nil {
		return "", false
	}
	return c.lookup(name)
}

// Model returns the model of that name. ok is false when there is none; the
// result is then the default model, the first one.
func (c *Config) Model(name string) (m Model, ok bool) {
	for _, m := range c.Models {
		if m.Name == name {
			return m, true
		}
	}
	return c.Models[0], false
}

// LogLevel is one of debug, info, warn, error.
type LogLevel string

// Slog returns the level for log/slog.
func (l LogLevel) Slog() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l)); err != nil {
		return slog.LevelInfo
	}
	return level
}

func (l *LogLevel) setText(text string) error {
	switch text = strings.ToLower(text); text {
	case "debug", "info", "warn", "error":
		*l = LogLevel(text)
	case "warning":
		*l = "warn"
	case "critical", "fatal":
		*l = "error"
	default:
		return wantError("debug, info, warn or error")
	}
	return nil
}

// CircuitBreaker stops calls to a model that keeps failing.
type CircuitBreaker struct {
	// FailureThreshold is how many final failures in a row open it (5).
	FailureThreshold int `yaml:"failure_threshold" conf:"min=1"`
	// RecoveryTimeout is how long it stays open (60 s); a plain number in the
	// file means seconds.
	RecoveryTimeout time.Duration `yaml:"recovery_timeout_sec"`
}

// LLMCall bounds the calls to models.
type LLMCall struct {
	// MaxConcurrentCalls is the number of calls at once in a process; 0 means
	// no limit.
	MaxConcurrentCalls int `yaml:"max_concurrent_calls" conf:"min=0"`
	// RetryMaxAttempts is the total number of attempts of one call; 0 means not
	// set: the call is then bounded by time alone.
	RetryMaxAttempts int `yaml:"retry_max_attempts,omitempty" conf:"alias=max_retries,min=1"`
	// RetryBaseDelay is the shortest wait before another attempt (1 s).
	RetryBaseDelay time.Duration `yaml:"retry_base_delay_ms" conf:"unit=ms"`
	// RetryCapDelay is the longest (8 s).
	RetryCapDelay time.Duration `yaml:"retry_cap_delay_ms" conf:"unit=ms"`
	// BurstRetryBaseDelay is the shortest wait after a provider said that the
	// rate rose too fast (5 s).
	BurstRetryBaseDelay time.Duration `yaml:"burst_retry_base_delay_ms" conf:"unit=ms"`
}

// Uploads bounds what a user may upload in one request; sizes are in bytes.
type Uploads struct {
	MaxFiles     int   `yaml:"max_files" conf:"min=1"`      // files of one request (10)
	MaxFileSize  int64 `yaml:"max_file_size" conf:"min=1"`  // of each file (50 MiB)
	MaxTotalSize int64 `yaml:"max_total_size" conf:"min=1"` // of all of them (100 MiB)
	// AutoConvertDocuments makes a Markdown text of each PDF, Word, PowerPoint and
	// Excel file (true).
	AutoConvertDocuments bool `yaml:"auto_convert_documents"`
	// ConversionTimeout is how long the conversion of one document may take (2
	// min); a plain number in the file means seconds.
	ConversionTimeout time.Duration `yaml:"conversion_timeout" conf:"min=1"`
}

func (*Uploads) unusedKeys() []string { return []string{"pdf_converter"} }
