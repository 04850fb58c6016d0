package tools

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/config"
	"deerflow/internal/tools/web"
)

// What the configuration takes for available is what there is.
func TestConfigKnowsTheWebTools(t *testing.T) {
	t.Parallel()
	makers := webMakers(Options{})
	for _, provider := range []string{
		"http", "tavily", "brave", "ddg", "searxng", "serper", "exa", "firecrawl", "fastcrw", "jina", "groundroute", "infoquest", "crawl4ai", "browserless",
	} {
		for _, tool := range []string{"web_search", "web_fetch", "image_search", "web_capture"} {
			use := provider + ":" + tool
			require.Equal(t, makers[use] != nil, config.Tool{Use: use}.Available(), use)
		}
	}
	for _, p := range web.Providers() {
		require.True(t, p.Search != nil || p.Fetch != nil || p.Images != nil || p.Capture != nil, p.Name)
	}
}
