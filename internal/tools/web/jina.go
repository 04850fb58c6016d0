package web

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	jinaEnv     = "JINA_API_KEY"
	jinaAddress = "https://r.jina.ai"
	jinaService = "Jina API"
	jinaTimeout = 10 * time.Second
)

// jina has Jina Reader load a page in its browser. Without a key it is asked as a
// stranger, which is limited. Options: api_key, base_url, timeout (10), proxy,
// trust_env (false: not through the proxy of the environment); with base_url also
// allow_private_addresses, allowed_hosts.
type jina struct{ Options }

func newJina(o Options) Fetcher { return jina{o} }

// Fetch gets the HTML of a page and makes it readable here.
func (j jina) Fetch(ctx context.Context, address string) (Page, error) {
	if j.ownService() {
		if err := j.Check(ctx, address); err != nil {
			return Page{}, err
		}
	}
	timeout := j.Seconds("timeout", jinaTimeout)
	key := j.Key(jinaEnv)
	request := Request{
		Service: jinaService, URL: j.BaseURL(jinaAddress) + "/", JSON: map[string]any{"url": address},
		Header: map[string]string{
			"Accept":          "text/plain", // with JSON as the type it would wrap the page
			"X-Return-Format": "html",
			"X-Timeout":       strconv.Itoa(int(math.Ceil(timeout.Seconds()))),
		},
		Secrets: []string{key}, Timeout: timeout, MaxBytes: maxBody,
		Proxy: j.Text("proxy"), Direct: j.Off("trust_env"),
	}
	if key != "" {
		request.Header["Authorization"] = "Bearer " + key
	} else {
		j.warnf("%s is not set, %s is asked without a key", jinaEnv, jinaService)
	}
	response, err := j.Client.Do(ctx, request)
	if err != nil {
		return Page{}, err
	}
	if strings.TrimSpace(string(response.Body)) == "" {
		return Page{}, failed(KindNoContent, "%s returned an empty response: No content found", jinaService)
	}
	return readablePage(ctx, address, address, response.Body)
}
