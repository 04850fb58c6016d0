package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/config"
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
			var text strings.Builder
			text.WriteString("models: [{name: m, use: demo}]\ntools:\n")
			for _, tool := range c.tools {
				use := fmt.Sprintf(form, c.provider, c.module, tool)
				fmt.Fprintf(&text, "  - {name: %s, group: web, use: %q, api_key: k}\n", tool, use)
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
