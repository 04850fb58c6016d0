package web

import (
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/config"
)

// spy is the value of an option that notes whether it is read.
type spy struct {
	text string
	read bool
}

func (s *spy) Reveal() string { s.read = true; return s.text }
func (s *spy) String() string { return s.Reveal() }

// readsItsOptions checks that the tool reads those options of which config knows,
// and no others: a wrong warning is as bad as none.
func (w wire) readsItsOptions(t *testing.T, h http.HandlerFunc) {
	t.Helper()
	var known config.WebTool
	every := map[string]bool{"no_such_option": true}
	for _, tool := range config.WebTools() {
		if tool.Provider == w.provider && tool.Tool == w.tool {
			known = tool
		}
		for _, name := range tool.Options {
			every[name] = true
		}
	}
	require.NotEmpty(t, known.Options, "config does not know %s:%s", w.provider, w.tool)
	delete(every, "max_chars") // web_fetch itself reads it, whoever the provider is
	for name := range every {
		o, _ := w.options(t, h)
		option := &spy{text: "1"}
		if name == "base_url" {
			option.text = o.Text(name)
		}
		o.Values[name] = option
		_, _ = w.run(t.Context(), o) // with a value like 1 it may fail
		require.Equal(t, slices.Contains(known.Options, name), option.read, "whether %s:%s reads %s", w.provider, w.tool, name)
	}
}

// What config says of keys is so, and it knows exactly the tools that there are.
func TestConfigKnowsTheProviders(t *testing.T) {
	t.Parallel()
	var tools []string
	for _, known := range config.WebTools() {
		tools = append(tools, known.Provider+":"+known.Tool)
		w := wire{provider: known.Provider, tool: known.Tool, keyless: true}
		_, _, err := w.call(t, answering(said{status: http.StatusTeapot}))
		if known.Key == "" {
			require.NotContains(t, err.Error(), "not configured", known.Provider)
			continue
		}
		require.Equal(t, NotConfigured(known.Key), err, known.Provider)
	}
	var there []string
	for _, p := range Providers() {
		for tool, has := range map[string]bool{"web_search": p.Search != nil, "web_fetch": p.Fetch != nil, "image_search": p.Images != nil, "web_capture": p.Capture != nil} {
			if has {
				there = append(there, p.Name+":"+tool)
			}
		}
	}
	require.ElementsMatch(t, there, tools)
}

func TestPlainFetchReadsItsOptions(t *testing.T) {
	t.Parallel()
	w := wire{
		provider: "http", tool: "web_fetch", keyless: true,
		target: "http://127.0.0.1:1/", values: map[string]any{"allow_private_addresses": true}, // nobody listens there
	}
	w.readsItsOptions(t, answering(said{status: http.StatusOK}))
}

// The page on the web has every option and every key.
func TestThePageHasEveryOption(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/web.md")
	require.NoError(t, err)
	for _, tool := range config.WebTools() {
		for _, name := range tool.Options {
			require.Contains(t, string(page), "`"+name+"`", "%s:%s", tool.Provider, tool.Tool)
		}
		if tool.Key != "" {
			require.Contains(t, string(page), "`"+tool.Key+"`", tool.Provider)
		}
	}
}
