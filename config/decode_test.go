package config

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"list for a mapping":    {"thread: [1]", `c.yaml:1: thread: want keys and values, got a list`},
		"scalar for a mapping":  {"thread: 5", `c.yaml:1: thread: want keys and values, got "5"`},
		"mapping for a list":    {"models:\n  name: a", `c.yaml:2: models: want a list (every entry begins with "- "), got keys and values`},
		"scalar in a list":      {"models:\n- gpt", `c.yaml:2: models[0]: want keys and values, got "gpt"`},
		"empty entry":           {"models:\n-\n- {name: a, use: demo}", "c.yaml:2: models[0] is empty"},
		"list for a scalar":     {"log_level: [info]", "c.yaml:1: log_level: want a single value, got a list"},
		"word for a number":     {"thread:\n  max_turns: many", `c.yaml:2: thread.max_turns: want a whole number, got "many"`},
		"fraction":              {"thread: {max_turns: 1.5}", `want a whole number, got "1.5"`},
		"too large":             {"thread: {max_turns: 99999999999999999999}", "want a whole number"},
		"zero":                  {"thread: {max_turns: 0}", "thread.max_turns: want at least 1"},
		"negative":              {"max_recursion_limit: -1", "max_recursion_limit: want at least 1"},
		"word for a bool":       {"loop_detection: {enabled: perhaps}", `want true or false, got "perhaps"`},
		"word of an enum":       {"clarification:\n  on_timeout: proced", `c.yaml:2: clarification.on_timeout: want proceed or stop, got "proced"; did you mean proceed?`},
		"log level":             {"log_level: loud", `want debug, info, warn or error, got "loud"`},
		"toggle":                {"auth: {enabled: maybe}", `auth.enabled: want auto, true or false, got "maybe"`},
		"duration":              {"thread: {idle_timeout: 1 day}", "want a duration such as 30s, 5m, 24h, or a number of seconds"},
		"duration in ms":        {"llm_call: {retry_cap_delay_ms: x}", "or a number of milliseconds"},
		"negative duration":     {"thread: {idle_timeout: -3s}", "not negative"},
		"negative seconds":      {"clarification: {timeout: -1}", "not negative"},
		"endless duration":      {"thread: {idle_timeout: 1e12}", "at most 292 years"},
		"no time for a command": {"sandbox: {bash_command_timeout: 0}", "want at least 0.001s"},
		"key that is a list":    {"thread: {[a]: 1}", "thread: want text as a key"},
		"null key":              {"thread: {~: 1}", "thread: want text as a key"},
		"key of two lines":      {`thread: {"max\n\x1bturn": 1}`, "c.yaml:1: thread: unknown key max  turn; known keys"},
		"override of no map":    {"loop_detection: {tool_freq_overrides: 3}", `want keys and values, got "3"`},
		"huge free number":      {"tools: [{name: ls, use: 'sandbox:ls', x: 18446744073709551615}]", "tools[0].x: want a number that fits 63 bits"},
		"tag that lies":         {"tools: [{name: ls, use: 'sandbox:ls', x: !!int abc}]", `tools[0].x: "abc" is no !!int`},
		"long value":            {"auth: {enabled: " + strings.Repeat("é", 70) + "}", strings.Repeat("é", 60) + "..."},
		"top-level duplicate":   {"log_level: info\n\nlog_level: warn", "c.yaml:3: key log_level is given twice; the first is in line 1"},
		"duplicate deep down":   {"logging:\n  a:\n    b: 1\n    b: 2", "c.yaml:4: logging.a: key b is given twice; the first is in line 3"},
		"custom tag":            {"tools: [{name: a, use: 'sandbox:ls', x: !env FOO}]", "the YAML tag !env is not supported"},
		"merge of a scalar":     {"thread: {<<: 3}", "thread: << wants a mapping"},
		"loop limits":           {"loop_detection:\n  warn_threshold: 9", "c.yaml:2: loop_detection.hard_limit (5) is below warn_threshold (9)"},
		"loop frequency":        {"loop_detection:\n  tool_freq_hard_limit: 9", "c.yaml:2: loop_detection.tool_freq_hard_limit (9) is below tool_freq_warn (30)"},
		"loop override":         {"loop_detection:\n  tool_freq_overrides:\n    bash: {warn: 5, hard_limit: 4}", "c.yaml:3: loop_detection.tool_freq_overrides.bash.hard_limit (4) is below warn (5)"},
		"half an override":      {"loop_detection:\n  tool_freq_overrides:\n    bash: {warn: 5}", "c.yaml:3: loop_detection.tool_freq_overrides.bash: hard_limit is missing"},
		"frontend":              {"frontend_url: app.example.com", "c.yaml:1: frontend_url: want an address"},
		"origin with a path":    {"server:\n  allowed_origins:\n  - https://a.example/x", "c.yaml:3: server.allowed_origins[0]: want scheme and host"},
		"origin wildcard":       {"server: {allowed_origins: ['*']}", "no wildcard"},
		"host with a scheme":    {"server: {allowed_hosts: ['http://a']}", "want a host name"},
		"group":                 {"tool_groups: [{nam: a}]", "unknown key nam; did you mean name?"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, fails(t, tt.text), tt.want)
		})
	}
}

func TestDecodeValues(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		got  func(*Config) any
		want any
	}{
		"go duration":        {"thread: {idle_timeout: 90m}", func(c *Config) any { return c.Thread.IdleTimeout }, 90 * time.Minute},
		"seconds":            {"thread: {idle_timeout: 90}", func(c *Config) any { return c.Thread.IdleTimeout }, 90 * time.Second},
		"fraction":           {"thread: {idle_timeout: 0.5}", func(c *Config) any { return c.Thread.IdleTimeout }, 500 * time.Millisecond},
		"milliseconds":       {"llm_call: {retry_base_delay_ms: 250}", func(c *Config) any { return c.LLMCall.RetryBaseDelay }, 250 * time.Millisecond},
		"unit beats unit":    {"llm_call: {retry_base_delay_ms: 2s}", func(c *Config) any { return c.LLMCall.RetryBaseDelay }, 2 * time.Second},
		"recovery":           {"circuit_breaker: {recovery_timeout_sec: 30}", func(c *Config) any { return c.CircuitBreaker.RecoveryTimeout }, 30 * time.Second},
		"float for an int":   {"max_recursion_limit: 2e3", func(c *Config) any { return c.MaxRecursionLimit }, 2000},
		"underscores":        {"max_recursion_limit: 2_000", func(c *Config) any { return c.MaxRecursionLimit }, 2000},
		"quoted number":      {`max_recursion_limit: "20"`, func(c *Config) any { return c.MaxRecursionLimit }, 20},
		"yaml 1.1 bool":      {"loop_detection: {enabled: off}", func(c *Config) any { return c.LoopDetection.Enabled }, false},
		"auth on":            {"auth: {enabled: yes}", func(c *Config) any { return c.Auth.Enabled }, ToggleOn},
		"auth off":           {"auth: {enabled: false}", func(c *Config) any { return c.Auth.Enabled }, ToggleOff},
		"python log level":   {"log_level: WARNING", func(c *Config) any { return c.LogLevel }, LogLevel("warn")},
		"null keeps default": {"thread: {max_turns: }", func(c *Config) any { return c.Thread.MaxTurns }, 100},
		"text stays text":    {"models: [{name: 1.10, use: demo}]", func(c *Config) any { return c.Models[0].Name }, "1.10"},
		"overrides":          {"loop_detection: {tool_freq_overrides: {bash: {warn: 150, hard_limit: 300}}}", func(c *Config) any { return c.LoopDetection.ToolFreqOverrides["bash"] }, ToolFreq{150, 300}},
		"slog level":         {"log_level: critical", func(c *Config) any { return c.LogLevel.Slog() }, slog.LevelError},
		"server":             {"server: {allowed_origins: ['https://a.example:8443'], allowed_hosts: [a.example]}", func(c *Config) any { return c.Server }, Server{[]string{"https://a.example:8443"}, []string{"a.example"}}},
		"groups":             {"tool_groups: [{name: web}]", func(c *Config) any { return c.ToolGroups }, []ToolGroup{{"web"}}},
		"windows line ends":  {"thread:\r\n  max_turns: 7\r\n", func(c *Config) any { return c.Thread.MaxTurns }, 7},
		"no tools at all":    {"tools: []", func(c *Config) any { return c.Tools }, []Tool{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := load(t, tt.text)
			require.Equal(t, tt.want, tt.got(c))
		})
	}
}

func TestMergeOrder(t *testing.T) {
	t.Parallel()
	c, _ := load(t, `
x-a: &a {max_turns: 1, idle_timeout: 1s}
x-b: &b {max_turns: 2, idle_timeout: 2s, continue_as_new_events: 22}
thread:
  <<: [*a, *b]
  idle_timeout: 3s
`)
	require.Equal(t, 1, c.Thread.MaxTurns, "an earlier mapping wins")
	require.Equal(t, 3*time.Second, c.Thread.IdleTimeout, "the mapping's own key wins")
	require.Equal(t, 22, c.Thread.ContinueAsNewEvents)
}

func TestAnchorsThatExplode(t *testing.T) {
	t.Parallel()
	tower := "x-0: &t0 [1,1,1,1,1,1,1,1,1,1]\n"
	for _, level := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		below := "*t" + string(level[0]-1)
		tower += "x-" + level + ": &t" + level + " [" + strings.Repeat(below+",", 9) + below + "]\n"
	}
	tests := map[string]string{
		"holds itself":       "x: &a [*a]\n",
		"holds itself by <<": "thread: &a {<<: *a}\n",
		"tower":              tower,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, fails(t, text), "nested too deeply")
		})
	}
}

func TestConfTags(t *testing.T) {
	t.Parallel()
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(typ.Elem())
		case reflect.Struct:
			fields, _ := fieldsOf(typ) // panics on a bad tag
			seen := map[string]bool{}
			for _, f := range fields {
				for _, key := range append([]string{f.name}, f.aliases...) {
					require.False(t, seen[key], "%s: %s stands for two fields", typ, key)
					seen[key] = true
				}
				visit(typ.Field(f.index).Type)
			}
		}
	}
	visit(reflect.TypeFor[Config]())

	for _, tag := range []string{"mini=3", "min=x", "unit=parsec"} {
		var f field
		require.Error(t, f.read(tag), tag)
	}
}

func TestGenericKeepsWhatJSONCanHold(t *testing.T) {
	t.Parallel()
	d := newDecoder("c.yaml", env())
	var n yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte("{a: 1, b: 1.5, c: text, d: [true, null], e: 2024-05-01, 7: {x: 0x10}}"), &n))
	require.Equal(t, map[string]any{
		"a": 1, "b": 1.5, "c": "text", "d": []any{true, nil}, "e": "2024-05-01", "7": map[string]any{"x": 16},
	}, d.generic(n.Content[0], ""))
	require.Empty(t, d.errs)
}
