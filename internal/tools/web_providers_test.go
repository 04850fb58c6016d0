package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/config"
	"deerflow/internal/tools/web"
)

// Every provider has its tools, under its own name and under the module paths of
// DeerFlow's configuration.
func TestProvidersAndTheirModules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider string
		module   string
		tools    []string
	}{
		{"tavily", "tavily", []string{"web_search", "web_fetch"}},
		{"brave", "brave", []string{"web_search", "image_search"}},
		{"ddg", "ddg_search", []string{"web_search"}},
		{"ddg", "image_search", []string{"image_search"}},
		{"searxng", "searxng", []string{"web_search"}},
		{"serper", "serper", []string{"web_search", "image_search"}},
		{"exa", "exa", []string{"web_search", "web_fetch"}},
		{"firecrawl", "firecrawl", []string{"web_search", "web_fetch"}},
		{"jina", "jina_ai", []string{"web_fetch"}},
		{"groundroute", "groundroute", []string{"web_search", "web_fetch"}},
		{"infoquest", "infoquest", []string{"web_search", "web_fetch", "image_search"}},
		{"fastcrw", "fastcrw", []string{"web_search", "web_fetch"}},
		{"crawl4ai", "crawl4ai", []string{"web_fetch"}},
		{"browserless", "browserless", []string{"web_fetch", "web_capture"}},
	} {
		for _, form := range []string{"%[1]s:%[3]s", "deerflow.community.%[2]s.tools:%[3]s_tool", "src.community.%[2]s.tools:%[3]s_tool"} {
			key := ", api_key: k"
			if c.provider == "ddg" || c.provider == "searxng" { // they take none
				key = ""
			}
			var text strings.Builder
			text.WriteString("models: [{name: m, use: demo}]\ntools:\n")
			for _, tool := range c.tools {
				use := fmt.Sprintf(form, c.provider, c.module, tool)
				fmt.Fprintf(&text, "  - {name: %s, group: web, use: %q%s}\n", tool, use, key)
			}
			file := filepath.Join(t.TempDir(), "config.yaml")
			require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
			cfg, warnings, err := config.Load(config.Options{Path: file})
			require.NoError(t, err, text.String())
			require.Empty(t, warnings, text.String())

			var o Options
			for _, entry := range cfg.Tools {
				require.True(t, entry.Available(), entry.Use)
				o.Entries = append(o.Entries, Entry{Name: entry.Name, Group: entry.Group, Use: entry.Use, Extra: entry.Options})
			}
			set, told, err := New(o)
			require.NoError(t, err, text.String())
			require.Empty(t, told, text.String())
			for _, tool := range c.tools {
				_, ok := set.Get(tool)
				require.True(t, ok, text.String())
			}
		}
	}
}

// A provider gets the options of its entry, the keys of the environment and of its
// other entries, and its hits come out in the one form of all providers.
func TestProviderBehindAnEntry(t *testing.T) {
	t.Parallel()
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("X-Api-Key"))
		if r.URL.Path == "/images" {
			_, _ = io.WriteString(w, `{"images": null}`)
			return
		}
		_, _ = io.WriteString(w, `{"organic": [{"title": "Tides", "link": "https://a.example/", "snippet": "high & low"}]}`)
	}))
	t.Cleanup(server.Close)
	client := web.NewClient(web.ClientOptions{})
	t.Cleanup(client.Close)
	call := func(search map[string]any, tool string) Result {
		set, _, err := New(Options{
			Entries: []Entry{
				{Name: "web_search", Use: "serper:web_search", Extra: search},
				{Name: "image_search", Use: "serper:image_search", Extra: map[string]any{"base_url": server.URL}},
			},
			Web:    client,
			Getenv: func(name string) string { return map[string]string{"SERPER_API_KEY": "of-env"}[name] },
		})
		require.NoError(t, err)
		found, ok := set.Get(tool)
		require.True(t, ok)
		r, err := Run(t.Context(), found, Call{Args: []byte(`{"query": "tides"}`)})
		require.NoError(t, err)
		return r
	}
	r := call(map[string]any{"base_url": server.URL, "api_key": "of-entry"}, "web_search")
	require.False(t, r.Error, r.Text)
	var got hits
	require.NoError(t, json.Unmarshal([]byte(r.Text), &got))
	require.Equal(t, []hit{{Title: "Tides", URL: "https://a.example/", Snippet: "high & low", Content: "high & low", Source: "serper"}}, got.Results)
	require.Equal(t, "tides", got.Query)

	r = call(map[string]any{"api_key": "of-entry"}, "image_search")
	require.True(t, r.Error)
	require.Contains(t, r.Text, "No images found")
	call(map[string]any{"base_url": server.URL, "api_key": " "}, "web_search")
	require.Equal(t, []string{"of-entry", "of-entry", "of-env"}, keys)
}
