package config

import (
	"maps"
	"slices"
)

// LoopDetection ends a run that repeats itself. Every limit is at least 1 and a
// hard limit is never below its warning.
type LoopDetection struct {
	Enabled bool `yaml:"enabled"` // true
	// WarnThreshold is how many equal sets of tool calls within the window
	// bring a warning (3).
	WarnThreshold int `yaml:"warn_threshold" conf:"min=1"`
	// HardLimit is how many of them end the run (5).
	HardLimit int `yaml:"hard_limit" conf:"min=1"`
	// WindowSize is how many of the latest messages are compared (20).
	WindowSize int `yaml:"window_size" conf:"min=1"`
	// MaxTrackedThreads is accepted for DeerFlow's sake (100): here the window
	// lives in the thread's own workflow.
	MaxTrackedThreads int `yaml:"max_tracked_threads" conf:"min=1"`
	// ToolFreqWarn is how many calls of one tool bring a warning (30).
	ToolFreqWarn int `yaml:"tool_freq_warn" conf:"min=1"`
	// ToolFreqHardLimit is how many of them end the run (50).
	ToolFreqHardLimit int `yaml:"tool_freq_hard_limit" conf:"min=1"`
	// ToolFreqOverrides replaces the two frequency limits for a tool by name.
	ToolFreqOverrides map[string]ToolFreq `yaml:"tool_freq_overrides,omitempty"`
}

// ToolFreq are the frequency limits of one tool.
type ToolFreq struct {
	Warn      int `yaml:"warn" conf:"required,min=1"`       // calls that bring a warning
	HardLimit int `yaml:"hard_limit" conf:"required,min=1"` // calls that end the run
}

func (d *decoder) checkLoop(l *LoopDetection) {
	const section = "loop_detection"
	if l.HardLimit < l.WarnThreshold {
		d.errorf(d.line(section, "hard_limit", "warn_threshold"),
			"%s.hard_limit (%d) is below warn_threshold (%d)", section, l.HardLimit, l.WarnThreshold)
	}
	if l.ToolFreqHardLimit < l.ToolFreqWarn {
		d.errorf(d.line(section, "tool_freq_hard_limit", "tool_freq_warn"),
			"%s.tool_freq_hard_limit (%d) is below tool_freq_warn (%d)", section, l.ToolFreqHardLimit, l.ToolFreqWarn)
	}
	for _, tool := range slices.Sorted(maps.Keys(l.ToolFreqOverrides)) {
		limits := l.ToolFreqOverrides[tool]
		if limits.HardLimit < limits.Warn {
			path := section + ".tool_freq_overrides." + tool
			d.errorf(d.line(path, "hard_limit"), "%s.hard_limit (%d) is below warn (%d)", path, limits.HardLimit, limits.Warn)
		}
	}
}
