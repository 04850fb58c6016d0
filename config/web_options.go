package config

import "maps"

// webOptions are what the entry of a web tool may say beside its name, its group
// and its use: how values are checked by name.
type webOptions map[string]optionCheck

// with adds options.
func (o webOptions) with(more webOptions) webOptions {
	all := maps.Clone(o)
	maps.Copy(all, more)
	return all
}

// without leaves options out.
func (o webOptions) without(names ...string) webOptions {
	all := maps.Clone(o)
	for _, name := range names {
		delete(all, name)
	}
	return all
}

// optionsOfProviders are the options that providers read, by provider and tool.
// Package web reads them; its tests compare.
func optionsOfProviders() map[string]map[string]webOptions {
	common := webOptions{"api_key": isText, "base_url": isURL, "timeout": isSeconds}
	search := common.with(webOptions{"max_results": isNumber})
	fetch := common.with(webOptions{"max_chars": isNumber})
	guarded := webOptions{"allow_private_addresses": isFlag, "allowed_hosts": isHosts}

	brave := search.with(webOptions{"country": isText, "search_lang": isText, "safesearch": isText})
	ddg := search.without("api_key").with(webOptions{"region": isText, "safesearch": isScalar})
	serper := search.with(webOptions{"gl": isText, "hl": isText, "location": isText})
	browserless := common.with(guarded).with(webOptions{
		"token": isText, "timeout_s": isSeconds, "wait_for_event": isText, "wait_for_timeout_ms": isNumber, "wait_for_selector": isText,
	})
	return map[string]map[string]webOptions{
		"http": {webFetch: fetch.without("api_key", "base_url").with(guarded).with(webOptions{"user_agent": isText})},
		"tavily": {
			webSearch: search.with(webOptions{
				"search_depth": isText, "topic": isText, "time_range": isText, "country": isText, "include_domains": isList, "exclude_domains": isList,
			}),
			webFetch: fetch,
		},
		"brave": {webSearch: brave, imageSearch: brave.with(webOptions{"spellcheck": isFlag})},
		"ddg": {
			webSearch:   ddg.with(webOptions{"time_range": isText, "user_agent": isText}),
			imageSearch: ddg.with(webOptions{"size": isText, "type_image": isText, "layout": isText}),
		},
		"searxng": {webSearch: search.without("api_key").with(webOptions{
			"language": isText, "categories": isList, "engines": isList, "safesearch": isText, "time_range": isText,
		})},
		"serper": {webSearch: serper, imageSearch: serper},
		"exa": {
			webSearch: search.with(webOptions{"search_type": isText, "contents_max_characters": isNumber}),
			webFetch:  fetch,
		},
		"firecrawl":   {webSearch: search, webFetch: fetch.with(guarded)},
		"fastcrw":     {webSearch: search, webFetch: fetch.with(guarded)},
		"jina":        {webFetch: fetch.with(guarded).with(webOptions{"proxy": isText, "trust_env": isFlag})},
		"groundroute": {webSearch: search, webFetch: fetch},
		"infoquest": {
			webSearch:   search.with(webOptions{"search_time_range": isNumber, "site": isText}),
			webFetch:    fetch.with(webOptions{"fetch_time": isSeconds, "navigation_timeout": isSeconds}),
			imageSearch: search.with(webOptions{"image_search_time_range": isNumber, "image_size": oneOf("l", "m", "i")}),
		},
		"crawl4ai": {webFetch: fetch.with(guarded).with(webOptions{
			"token": isText, "api_token": isText, "filter": oneOf("fit", "raw", "bm25", "llm"),
		})},
		"browserless": {
			webFetch: browserless.with(webOptions{"max_chars": isNumber, "reject_resource_types": isList, "reject_request_pattern": isList}),
			webCapture: browserless.with(webOptions{
				"quality": isPercent, "viewport_width": isNumber, "viewport_height": isNumber, "best_attempt": isFlag,
			}),
		},
	}
}
