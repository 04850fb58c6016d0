package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"deerflow/internal/tools/web"
)

// webTimeout bounds a call of a web tool; providers have shorter times of their
// own, which an entry may raise to 3 minutes.
const webTimeout = 4 * time.Minute

// webMakers are the web tools of all providers.
func webMakers(o Options) makers {
	if o.Web == nil {
		o.Web = web.NewClient(web.ClientOptions{})
	}
	warn := func(text string) {
		if o.Warn != nil {
			o.Warn(Warning(text))
		}
	}
	all := makers{}
	for _, p := range web.Providers() {
		options := func(tool string, e Entry) web.Options {
			return web.Options{
				Provider: p.Name, Tool: tool, Values: e.Extra, Siblings: siblings(o.Entries, p.Name),
				Client: o.Web, Getenv: o.Getenv, Warn: warn,
			}
		}
		if p.Search != nil {
			all[p.Name+":web_search"] = func(e Entry) (Tool, error) { return webSearch(p.Search, options("web_search", e)) }
		}
		if p.Fetch != nil {
			all[p.Name+":web_fetch"] = func(e Entry) (Tool, error) { return webFetch(p.Fetch, options("web_fetch", e)) }
		}
		if p.Images != nil {
			all[p.Name+":image_search"] = func(e Entry) (Tool, error) { return imageSearch(p.Images, options("image_search", e)) }
		}
		if p.Capture != nil {
			all[p.Name+":web_capture"] = func(e Entry) (Tool, error) { return webCapture(p.Capture, options("web_capture", e)) }
		}
	}
	return all
}

// siblings are the options of all entries of a provider.
func siblings(entries []Entry, provider string) []map[string]any {
	var all []map[string]any
	for _, e := range entries {
		if name, _, _ := strings.Cut(canonicalUse(e.Use), ":"); name == provider {
			all = append(all, e.Extra)
		}
	}
	return all
}

// webProblem is what went wrong in a web tool, in the words for the model. A
// provider that is not set up is told to the operator too. The error is the
// context's.
func webProblem(ctx context.Context, o web.Options, err error) (string, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var known *web.Error
	if !errors.As(err, &known) {
		return "", err
	}
	if known.Kind == web.KindConfig {
		o.Warn(o.Tool + " (" + o.Provider + "): " + known.Message)
	}
	return known.Message, nil
}

// fetchFailed is the result of a call that brought no page.
func fetchFailed(ctx context.Context, o web.Options, err error) (Result, error) {
	problem, lost := webProblem(ctx, o, err)
	if lost != nil {
		return Result{}, lost
	}
	r := failure("%s", problem)
	var known *web.Error
	if errors.As(err, &known) && known.Page {
		r.stampPage(known.Status)
	}
	return r, nil
}

// searchFailed is the result of a search that found nothing.
func searchFailed(ctx context.Context, o web.Options, query string, err error) (Result, error) {
	problem, err := webProblem(ctx, o, err)
	if err != nil {
		return Result{}, err
	}
	r := text(readableJSON(struct {
		Error string `json:"error"`
		Query string `json:"query"`
	}{problem, query}))
	r.Error = true
	return r, nil
}

// readableJSON writes a value for a model: with line breaks, and characters of all
// scripts as they are.
func readableJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil { // texts and numbers alone: it cannot fail
		return "{}"
	}
	return strings.TrimSpace(b.String())
}
