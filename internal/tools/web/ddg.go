package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	ddgAddress = "https://html.duckduckgo.com"
	ddgService = "DuckDuckGo"
)

// ddg reads the pages of DuckDuckGo that need neither a key nor scripts. It refuses
// who asks too often. Options: base_url, timeout (30), max_results (5), region
// (wt-wt, which is none), safesearch (on, moderate, off), time_range (day, week,
// month, year), user_agent.
type ddg struct{ Options }

func newDDGSearch(o Options) Searcher { return ddg{o} }

// Search sends the form of the page and reads the results out of the next one.
func (d ddg) Search(ctx context.Context, q Query) ([]Hit, error) {
	region := ddgRegion(d.Text("region"), q.Text)
	form := url.Values{"q": {q.Text}, "b": {""}, "l": {region}, "kl": {region}, "kp": {ddgSafe(d.Values["safesearch"])}}
	if period := strings.ToLower(d.Text("time_range")); period != "" {
		form.Set("df", period[:1])
	}
	answer, err := d.Client.Do(ctx, Request{
		Service: ddgService, URL: d.BaseURL(ddgAddress) + "/html/", Form: form, Timeout: d.Seconds("timeout", DefaultTimeout),
		Header: map[string]string{"Accept": "text/html", "User-Agent": cmp.Or(d.Text("user_agent"), userAgent)},
	})
	if err != nil {
		return nil, err
	}
	page, err := parseHTML(answer.Body)
	if err != nil {
		return nil, Malformed(ddgService)
	}
	hits := ddgHits(page)
	switch {
	case len(hits) > 0:
		return hits[:min(len(hits), d.Count(q, 5, 30))], nil
	case answer.Status == http.StatusAccepted || has(page, func(n *html.Node) bool { return strings.Contains(attribute(n, "class"), "anomaly") }):
		return nil, failed(KindStatus, "%s asks whether a human is searching: rate limited. Wait, or use another provider", ddgService)
	case !has(page, func(n *html.Node) bool { return n.DataAtom == atom.Form }): // the page of results has one for the next search
		return nil, Malformed(ddgService)
	}
	return nil, nil
}

// ddgHits are the results on a page, advertisements left out.
func ddgHits(page *html.Node) []Hit {
	var hits []Hit
	for n := range page.Descendants() {
		if n.DataAtom != atom.Div || !hasClass(n, "result__body") && !hasClass(n, "body") {
			continue
		}
		if h := ddgHit(n); h.URL != "" && !ddgAdvert(h.URL) {
			hits = append(hits, h)
		}
	}
	return hits
}

// ddgHit reads the block of one result.
func ddgHit(block *html.Node) Hit {
	var h Hit
	for n := range block.Descendants() {
		switch {
		case n.DataAtom == atom.H2 && h.Title == "":
			h.Title = textIn(n)
		case n.DataAtom == atom.A:
			h.URL = cmp.Or(h.URL, ddgTarget(attribute(n, "href")))
			if hasClass(n, "result__snippet") || n.Parent == block {
				h.Snippet = cmp.Or(h.Snippet, textIn(n))
			}
		}
	}
	return h
}

func ddgAdvert(address string) bool {
	u, err := url.Parse(address)
	return err != nil || strings.HasSuffix(u.Hostname(), "duckduckgo.com") && u.Path == "/y.js"
}

// ddgTarget is where a link leads that goes through DuckDuckGo.
func ddgTarget(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if target := u.Query().Get("uddg"); target != "" && u.Path == "/l/" {
		return target
	}
	if u.Scheme == "" && u.Host != "" {
		u.Scheme = "https"
	}
	return u.String()
}

// ddgSafe is the number for a filter: on, moderate or off, which may have come as
// truth values.
func ddgSafe(option any) string {
	switch strings.ToLower(strings.TrimSpace(fmt.Sprint(option))) {
	case "on", "strict", "true":
		return "1"
	case "off", "false":
		return "-2"
	}
	return "-1"
}

// ddgRegion is a region as DuckDuckGo knows it: country and language. Without one
// the script of the query tells it, if it is used in one language only or mostly.
func ddgRegion(region, query string) string {
	region = strings.ToLower(region)
	if region == "" || region == "wt-wt" {
		return regionOfScript(query)
	}
	country, language, ok := strings.Cut(region, "-")
	if !ok {
		return "us-en"
	}
	switch language {
	case "jp":
		language = "ja"
	case "kr":
		language = "ko"
	case "tzh":
		language = "zh"
	case "wt":
		language = "en"
	}
	return country + "-" + language
}

func regionOfScript(query string) string {
	for _, script := range []struct {
		letters []*unicode.RangeTable
		region  string
	}{
		{[]*unicode.RangeTable{unicode.Hiragana, unicode.Katakana}, "jp-ja"}, // before Han, which Japanese has too
		{[]*unicode.RangeTable{unicode.Hangul}, "kr-ko"},
		{[]*unicode.RangeTable{unicode.Han}, "cn-zh"},
		{[]*unicode.RangeTable{unicode.Cyrillic}, "ru-ru"},
		{[]*unicode.RangeTable{unicode.Greek}, "gr-el"},
		{[]*unicode.RangeTable{unicode.Hebrew}, "il-he"},
		{[]*unicode.RangeTable{unicode.Arabic}, "xa-ar"},
	} {
		if strings.ContainsFunc(query, func(r rune) bool { return unicode.In(r, script.letters...) }) {
			return script.region
		}
	}
	return "wt-wt"
}

func hasClass(n *html.Node, class string) bool {
	for _, c := range strings.Fields(attribute(n, "class")) {
		if c == class {
			return true
		}
	}
	return false
}

// textIn is all text below a node, with single spaces.
func textIn(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
