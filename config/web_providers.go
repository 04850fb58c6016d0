package config

import (
	"maps"
	"slices"
)

// The tools that a provider can stand behind.
const (
	webSearch   = "web_search"
	webFetch    = "web_fetch"
	imageSearch = "image_search"
	webCapture  = "web_capture"
)

func webTools() []string { return []string{webSearch, webFetch, imageSearch, webCapture} }

// webProvider is a provider of web tools.
type webProvider struct {
	tools   []string              // that this version has of it
	modules []string              // names that DeerFlow's module paths use for it, beside its own
	key     string                // the variable of a key without which it answers nothing, "" for none
	options map[string]webOptions // of each of its tools
}

// webProviders are the providers of web tools by name.
func webProviders() map[string]webProvider {
	options := optionsOfProviders()
	provider := func(name, key string, modules ...string) webProvider {
		p := webProvider{modules: modules, key: key, options: options[name]}
		for _, tool := range webTools() {
			if p.options[tool] != nil {
				p.tools = append(p.tools, tool)
			}
		}
		return p
	}
	return map[string]webProvider{
		"http":        provider("http", ""),
		"tavily":      provider("tavily", ""),
		"brave":       provider("brave", "BRAVE_SEARCH_API_KEY"),
		"ddg":         provider("ddg", "", "ddg_search", "duckduckgo", "image_search"),
		"searxng":     provider("searxng", ""),
		"serper":      provider("serper", "SERPER_API_KEY"),
		"exa":         provider("exa", "EXA_API_KEY"),
		"firecrawl":   provider("firecrawl", "FIRECRAWL_API_KEY"),
		"fastcrw":     provider("fastcrw", ""),
		"jina":        provider("jina", "", "jina_ai"),
		"groundroute": provider("groundroute", "GROUNDROUTE_API_KEY"),
		"infoquest":   provider("infoquest", ""),
		"crawl4ai":    provider("crawl4ai", ""),
		"browserless": provider("browserless", ""),
	}
}

// providersOf are the providers of a web tool, in order.
func providersOf(tool string) []string {
	all := webProviders()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return !slices.Contains(all[name].tools, tool) })
}

// WebTool is a web tool of a provider and what its entry may say.
type WebTool struct {
	Provider string
	Tool     string
	Options  []string // in order
	Key      string   // the variable of a key without which it answers nothing, "" for none
}

// WebTools are all web tools of all providers, in order.
func WebTools() []WebTool {
	var list []WebTool
	all := webProviders()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		for _, tool := range p.tools {
			list = append(list, WebTool{name, tool, slices.Sorted(maps.Keys(p.options[tool])), p.key})
		}
	}
	return list
}
