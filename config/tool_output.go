package config

import "strings"

// ToolOutput bounds what the result of a tool may have in a transcript. All sizes
// are in characters.
type ToolOutput struct {
	Enabled bool `yaml:"enabled"` // true
	// ExternalizeMinChars is the longest result that stays as it is (12000). A
	// longer one goes to a file, and a synopsis takes its place; 0 writes none.
	ExternalizeMinChars int `yaml:"externalize_min_chars" conf:"min=0"`
	// MaxToolOutputTokens is the same in tokens, of four characters each; it becomes
	// externalize_min_chars, and moves fallback_max_chars if that is lower.
	MaxToolOutputTokens int `yaml:"max_tool_output_tokens,omitempty" conf:"min=1"`
	// PreviewHeadChars and PreviewTailChars are how much of the beginning and the
	// end a synopsis shows (2000, 1000).
	PreviewHeadChars int `yaml:"preview_head_chars" conf:"min=0"`
	PreviewTailChars int `yaml:"preview_tail_chars" conf:"min=0"`
	// FallbackMaxChars is the longest result, also when no file can be written
	// (30000): of a longer one the middle is left out.
	FallbackMaxChars int `yaml:"fallback_max_chars" conf:"min=1"`
	// FallbackHeadChars and FallbackTailChars are what is then kept (8000, 3000).
	FallbackHeadChars int `yaml:"fallback_head_chars" conf:"min=0"`
	FallbackTailChars int `yaml:"fallback_tail_chars" conf:"min=0"`
	// StorageSubdir is the directory for the files, below the outputs of a thread
	// (.tool-results).
	StorageSubdir string `yaml:"storage_subdir"`
	// ExemptTools are never bounded here (read_file, read_file_tool): what they
	// read would go to a file that they read again.
	ExemptTools []string `yaml:"exempt_tools,omitempty"`
	// ToolOverrides replaces externalize_min_chars for a tool by name.
	ToolOverrides map[string]int `yaml:"tool_overrides,omitempty" conf:"min=0"`
}

func (t *ToolOutput) setDefaults() {
	*t = ToolOutput{
		Enabled:             true,
		ExternalizeMinChars: 12_000,
		PreviewHeadChars:    2000,
		PreviewTailChars:    1000,
		FallbackMaxChars:    30_000,
		FallbackHeadChars:   8000,
		FallbackTailChars:   3000,
		StorageSubdir:       ".tool-results",
		ExemptTools:         []string{"read_file", "read_file_tool"},
	}
}

// charsPerToken is what a token has on average.
const charsPerToken = 4

func (d *decoder) finishToolOutput(t *ToolOutput) {
	if n := t.MaxToolOutputTokens * charsPerToken; n > 0 {
		if line := d.lines["tool_output.externalize_min_chars"]; line > 0 {
			d.errorf(line, "tool_output: externalize_min_chars and max_tool_output_tokens (line %d) mean the same; keep one",
				d.lines["tool_output.max_tool_output_tokens"])
		}
		t.ExternalizeMinChars, t.MaxToolOutputTokens = n, 0
		if d.lines["tool_output.fallback_max_chars"] == 0 {
			t.FallbackMaxChars = max(t.FallbackMaxChars, n)
		}
	}
	d.checkToolOutput(t)
}

func (d *decoder) checkToolOutput(t *ToolOutput) {
	const key = "tool_output.storage_subdir"
	switch {
	case t.StorageSubdir == "", t.StorageSubdir == ".", t.StorageSubdir == "..", strings.ContainsAny(t.StorageSubdir, "/\\\x00"):
		d.errorf(d.line("tool_output", "storage_subdir"), "%s: want the name of one directory, got %s", key, d.given(key, t.StorageSubdir))
	}
}
