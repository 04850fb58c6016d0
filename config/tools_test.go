package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCanonicalTool(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want  string
		known bool
	}{
		"sandbox:bash":                                                   {"sandbox:bash", true},
		"deerflow.sandbox.tools:bash_tool":                               {"sandbox:bash", true},
		"src.sandbox.tools:str_replace_tool":                             {"sandbox:str_replace", true},
		"tavily:web_search":                                              {"tavily:web_search", true},
		"http:web_fetch":                                                 {"http:web_fetch", true},
		"deerflow.community.tavily.tools:web_search_tool":                {"tavily:web_search", true},
		"deerflow.community.ddg_search.tools:web_search_tool":            {"ddg:web_search", true},
		"deerflow.community.image_search.tools:image_search_tool":        {"ddg:image_search", true},
		"deerflow.community.jina_ai.tools:web_fetch_tool":                {"jina:web_fetch", true},
		"deerflow.community.search.duckduckgo:ddg_search_tool":           {"ddg:web_search", true},
		"src.community.firecrawl.tools:web_fetch_tool":                   {"firecrawl:web_fetch", true},
		"deerflow.community.browser_automation.tools:browser_click_tool": {"deerflow.community.browser_automation.tools:browser_click_tool", true},
		"sandbox:rm":             {"sandbox:rm", false},
		"tavily:web_serach":      {"tavily:web_serach", false},
		"my_company.tools:thing": {"my_company.tools:thing", false},
		"bash":                   {"bash", false},
		"":                       {"", false},
	}
	for use, tt := range tests {
		t.Run(use, func(t *testing.T) {
			t.Parallel()
			got, known := canonicalTool(use)
			require.Equal(t, tt.known, known)
			if known {
				require.Equal(t, tt.want, got)
			}
		})
	}
}

func TestStandardToolsAreAvailable(t *testing.T) {
	t.Parallel()
	own := 0
	for _, tool := range StandardTools() {
		require.True(t, tool.Available(), tool.Use)
		require.Equal(t, tool.Name, tool.ToolName())
		if !strings.HasPrefix(tool.Use, sandboxTools+":") {
			continue
		}
		own++
		for _, path := range []string{"deerflow", "src"} {
			use, known := canonicalTool(path + ".sandbox.tools:" + tool.Name + "_tool")
			require.True(t, known)
			require.Equal(t, tool.Use, use)
		}
	}
	require.Equal(t, len(sandboxToolNames()), own)
}

func TestTools(t *testing.T) {
	t.Parallel()
	c, warnings := load(t, demoModels+`tools:
  - {name: web_search, group: web, use: "deerflow.community.ddg_search.tools:web_search_tool", max_results: 5}
  - {name: browser_click, group: web, use: "deerflow.community.browser_automation.tools:browser_click_tool", api_key: $K, timeout: 10}
  - {name: grep, group: file:read, use: deerflow.sandbox.tools:grep_tool, max_results: 100}
  - {name: shell, group: bash, use: sandbox:bash}
  - {name: grep, group: other, use: sandbox:grep}
  - {name: ls, gruop: x, use: sandbox:ls}
`, "K", "secret-value")
	require.Len(t, c.Tools, 6, "entries without a tool are kept")
	require.Equal(t, "ddg:web_search", c.Tools[0].Use)
	require.True(t, c.Tools[0].Available())
	require.False(t, c.Tools[1].Available())
	require.Equal(t, ToolOptions{"max_results": 100}, c.Tools[2].Options)
	require.Equal(t, Secret("secret-value"), c.Tools[1].Options.Secret("api_key"))
	require.Contains(t, warnings, "c.yaml:4: tools that this version does not have are left out: deerflow.community.browser_automation.tools:browser_click_tool (line 4)")
	require.Contains(t, warnings, `c.yaml:6: tools[3].name is "shell", but the model sees the tool as "bash"`)
	require.Contains(t, warnings, `c.yaml:7: tools[4].name: "grep" is already the name of tools[2] (line 5), which wins`)
	require.Contains(t, warnings, "c.yaml:8: tools[5].gruop is taken as an option of the tool; did you mean group?")
}

func TestToolErrors(t *testing.T) {
	t.Parallel()
	got := fails(t, "tools:\n- name: bash\n  use: sandbox:bahs\n- name: x\n  use: my_company.tools:x\n- group: web\n")
	require.Contains(t, got, `c.yaml:3: tools[0].use: unknown tool "sandbox:bahs"; did you mean sandbox:bash? (sandbox has: bash, ls,`)
	require.Contains(t, got, `c.yaml:5: tools[1].use: unknown tool "my_company.tools:x"`)
	require.Contains(t, got, "sandbox has bash, ls, read_file, write_file, str_replace, glob, grep; web_search is provided by brave, ddg,")
	require.NotContains(t, got, "MCP", "there are none yet")
	require.Contains(t, got, "c.yaml:6: tools[2]: name is missing")
	require.Contains(t, got, "c.yaml:6: tools[2]: use is missing")
}

func TestToolOptions(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "tools: [{name: ls, use: 'sandbox:ls', api_key: k-secret, headers: {Authorization: a-secret}, max_tokens: 5, size: $N, word: w, float: 1.5}]", "N", "7")
	options := c.Tools[0].Options
	require.Equal(t, "k-secret", options.Secret("api_key").Reveal())
	require.Equal(t, "w", options.Text("word"))
	require.Equal(t, "w", options.Secret("word").Reveal())
	require.Empty(t, options.Text("api_key"), "a secret is not handed out as text")
	require.Empty(t, options.Secret("none"))
	for key, want := range map[string]int{"max_tokens": 5, "size": 7} {
		got, ok := options.Int(key)
		require.True(t, ok, key)
		require.Equal(t, want, got)
	}
	for _, key := range []string{"none", "word", "float"} {
		_, ok := options.Int(key)
		require.False(t, ok, key)
	}
	encoded, err := json.Marshal(options)
	require.NoError(t, err)
	for _, shown := range []string{string(encoded), fmt.Sprintf("%v %+v %#v", options, options, options)} {
		require.NotContains(t, shown, "secret\"")
		require.NotContains(t, shown, "k-secret")
		require.NotContains(t, shown, "a-secret")
	}
}
