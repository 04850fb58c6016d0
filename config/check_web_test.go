package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An option of a web tool that is misspelt, or whose value would be put aside, is
// named before the first call.
func TestWebToolOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ use, option, want string }{
		{"searxng:web_search", "baseurl: http://x", "tools[0].baseurl is no option of searxng:web_search; did you mean base_url? (it has: base_url, categories,"},
		{"http:web_fetch", "allowed_host: [a.example]", "tools[0].allowed_host is no option of http:web_fetch; did you mean allowed_hosts?"},
		{"tavily:web_search", "api_kye: abc", "tools[0].api_kye is no option of tavily:web_search; did you mean api_key?"},
		{"tavily:web_search", "allowed_hosts: [a]", "tools[0].allowed_hosts is no option of tavily:web_search (it has:"},
		{"ddg:web_search", "gruop: web", "did you mean group?"},
		{"deerflow.community.tavily.tools:web_search_tool", "max_resluts: 3", "did you mean max_results?"},
		{"searxng:web_search", "base_url: 'localhost:8088'", `tools[0].base_url: want an address with http:// or https://, got "localhost:8088"; it is put aside`},
		{"searxng:web_search", "base_url: [http://x]", "want an address"},
		{"searxng:web_search", "max_results: -3", `tools[0].max_results: want a whole number above 0, got "-3"`},
		{"searxng:web_search", "max_results: many", "want a whole number"},
		{"searxng:web_search", "max_results: true", "want a whole number"},
		{"searxng:web_search", "max_results: $N", "want a whole number above 0, got $N"},
		{"http:web_fetch", "timeout: abc", `tools[0].timeout: want a number of seconds above 0, got "abc"`},
		{"http:web_fetch", "timeout: 0", "want a number of seconds"},
		{"http:web_fetch", "max_chars: -5", "want a whole number"},
		{"http:web_fetch", "allowed_hosts: 10.0.0.0/99", "tools[0].allowed_hosts: want a list of hosts: names, *.names, addresses, or blocks"},
		{"http:web_fetch", "allowed_hosts: [a.example, 'https://b.example', $N]", "or blocks like 10.1.0.0/16, got a list; it"},
		{"http:web_fetch", "allowed_hosts: ['b.example:80']", "want a list of hosts"},
		{"http:web_fetch", "allowed_hosts: {a: b}", "want a list of hosts"},
		{"http:web_fetch", "allow_private_addresses: maybe", "want true or false"},
		{"tavily:web_search", "include_domains: {a: b}", "want a list of texts"},
		{"tavily:web_search", "topic: true", "want a text"},
		{"infoquest:image_search", "image_size: xl", "want one of l, m, i"},
		{"browserless:web_capture", "quality: 101", "want a number from 0 to 100"},
		{"jina:web_fetch", "base_url: 'ftp://me:pw@x'", `got "ftp://me:xxxxx@x"`},
	} {
		name := c.use[strings.Index(c.use, ":")+1:]
		_, warnings := load(t, demoModels+"tools:\n- name: "+strings.TrimSuffix(name, "_tool")+"\n  use: "+c.use+"\n  "+c.option+"\n", "N", "several")
		require.Contains(t, warnings, c.want, c.option)
		require.Contains(t, warnings, "c.yaml:5: tools[0].", c.option)
		require.NotContains(t, warnings, "several")
	}
}

func TestWebToolOptionsThatAreRight(t *testing.T) {
	t.Parallel()
	_, warnings := load(t, demoModels+`tools:
- {name: web_search, use: "searxng:web_search", base_url: "http://localhost:8088/", max_results: "7", timeout: 2.5, categories: "a, b", engines: [x, 1]}
- {name: web_fetch, use: "http:web_fetch", timeout: $SECONDS, max_chars: 9000, allow_private_addresses: off, user_agent: x,
   allowed_hosts: [wiki.example, "*.docs.example", 10.1.0.0/16, "::1", "fd00::/8", localhost]}
- {name: image_search, use: "ddg:image_search", safesearch: false, size: null}
- {name: web_capture, use: "browserless:web_capture", token: t-1, quality: 0, viewport_width: 800, best_attempt: "yes"}
`, "SECONDS", "20")
	require.Empty(t, warnings)
}

// A provider that answers nothing without a key is named, once, unless an entry or
// the environment has one.
func TestAMissingKeyOfASearchIsSeen(t *testing.T) {
	t.Parallel()
	tools := demoModels + "tools:\n- {name: image_search, use: 'brave:image_search'}\n- {name: web_search, use: 'brave:web_search', api_key: '"
	_, warnings := load(t, tools+" '}\n")
	require.Equal(t, "c.yaml:3: tools[0]: brave has no key, so its tools will fail: set api_key, or the variable BRAVE_SEARCH_API_KEY", strings.TrimSpace(warnings))
	_, warnings = load(t, tools+"k'}\n")
	require.Empty(t, warnings)
	_, warnings = load(t, tools+"'}\n", "BRAVE_SEARCH_API_KEY", "k")
	require.Empty(t, warnings)
}

// A tool that a provider does not have is a mistake; DeerFlow's own paths, which may
// name what only DeerFlow has, are left out.
func TestAToolThatAProviderLacks(t *testing.T) {
	t.Parallel()
	require.Equal(t, "c.yaml:2: tools[0].use: searxng has no web_fetch (web_fetch is provided by: "+
		"browserless, crawl4ai, exa, fastcrw, firecrawl, groundroute, http, infoquest, jina, tavily)", fails(t, "tools:\n- {name: web_fetch, use: 'searxng:web_fetch'}\n"))
	require.Equal(t, `c.yaml:2: tools[0].use: unknown tool "tavilly:web_search"; did you mean tavily:web_search? (web_search is provided by: `+
		"brave, ddg, exa, fastcrw, firecrawl, groundroute, infoquest, searxng, serper, tavily)", fails(t, "tools:\n- {name: web_search, use: 'tavilly:web_search'}\n"))
	c, warnings := load(t, demoModels+"tools:\n- {name: web_fetch, use: 'deerflow.community.searxng.tools:web_fetch_tool', depth: 3}\n")
	require.False(t, c.Tools[0].Available())
	require.Contains(t, warnings, "c.yaml:3: tools that this version does not have are left out: searxng:web_fetch (line 3)")
}
