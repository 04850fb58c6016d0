package tools

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Meta is the outcome of a call in a form that middlewares can decide by.
type Meta struct {
	Status      string  `json:"status"`     // success, error, partial_success
	ErrorType   *string `json:"error_type"` // of an error: auth, transient, not_found, ...
	Recoverable bool    `json:"recoverable_by_model"`
	Action      string  `json:"recommended_next_action"` // continue, rewrite_query, try_alternative, summarize, stop
	Source      string  `json:"source"`
}

// Outcomes of a call.
const (
	StatusSuccess = "success"
	StatusError   = "error"
	StatusPartial = "partial_success"
)

// Where a [Meta] comes from.
const (
	SourceException  = "exception"
	SourceToolReturn = "tool_return"
	SourceContent    = "content_analysis"
)

// errorKind is a class of errors with the words that tell it.
type errorKind struct {
	name        string
	words       *regexp.Regexp
	recoverable bool
	action      string
}

// errorKinds in the order in which they are tried. Numbers count only as words
// of their own: "500ms" is no status code.
var errorKinds = []errorKind{
	{"auth", regexp.MustCompile(`\b40[13]\b|unauthorized|authentication|invalid api key`), false, "stop"},
	{"rate_limited", regexp.MustCompile(`rate limit|rate_limit`), false, "summarize"},
	{"transient", regexp.MustCompile(`timeout|timed out|connection|network error|temporarily unavailable`), false, "try_alternative"},
	{"config", regexp.MustCompile(`not configured|not installed|missing required|disabled|no api key`), false, "stop"},
	{"permission", regexp.MustCompile(`permission denied|access denied|path traversal|forbidden`), true, "try_alternative"},
	{"no_results", regexp.MustCompile(`no results|no content found|no images found`), true, "rewrite_query"},
	{"not_found", regexp.MustCompile(`not found|no such file|does not exist|\b404\b`), true, "rewrite_query"},
	{"internal", regexp.MustCompile(`unexpected error|internal error|\b500\b`), false, "stop"},
}

// unknownKind is what no words tell.
var unknownKind = errorKind{name: "unknown", recoverable: true, action: "try_alternative"}

var partialResult = regexp.MustCompile(`(?i)partial results|limited results|truncated|results may be incomplete|no results|no content found|no images found`)

// Classify tells what a result means for the loop (spec 4.13).
func Classify(tool, source string, r Result) Meta {
	if detail, ok := strings.CutPrefix(r.Text, "Error:"); ok {
		return kindOf(detail).meta(source)
	}
	field, isObject := errorField(r.Text)
	switch {
	case r.Error && field != "":
		return kindOf(field).meta(source)
	case r.Error && isObject:
		return unknownKind.meta(source)
	case r.Error:
		return kindOf(r.Text).meta(source)
	case field != "":
		return kindOf(field).meta(source)
	}
	if tool == "web_fetch" {
		if kind, ok := errorPage(r.Text); ok {
			return kind.meta(SourceContent)
		}
	}
	if partialResult.MatchString(r.Text) {
		return Meta{Status: StatusPartial, Recoverable: true, Action: "rewrite_query", Source: SourceContent}
	}
	return Meta{Status: StatusSuccess, Recoverable: true, Action: "continue", Source: source}
}

func (k errorKind) meta(source string) Meta {
	return Meta{Status: StatusError, ErrorType: &k.name, Recoverable: k.recoverable, Action: k.action, Source: source}
}

func kindOf(detail string) errorKind {
	detail = strings.ToLower(detail)
	for _, k := range errorKinds {
		if k.words.MatchString(detail) {
			return k
		}
	}
	return unknownKind
}

// errorField is the error that a result in JSON speaks of, "" for none. Only
// that field counts: a query may well be about timeouts. Values that say that
// there is no error do not.
func errorField(s string) (field string, isObject bool) {
	if !strings.HasPrefix(strings.TrimSpace(s), "{") {
		return "", false
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &object) != nil {
		return "", false
	}
	raw, ok := object["error"]
	if !ok {
		return "", true
	}
	var value any
	if json.Unmarshal(raw, &value) != nil || meansNone(value) {
		return "", true
	}
	if s, ok := value.(string); ok {
		return s, true
	}
	return string(raw), true
}

// meansNone reports whether a value of an error field says that there is none.
func meansNone(value any) bool {
	switch v := value.(type) {
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "", "none", "null", "false", "no", "ok", "success", "n/a":
			return true
		}
		return false
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return value == nil
}

var (
	statusCode = regexp.MustCompile(`\b[45]\d\d\b`)
	filler     = regexp.MustCompile(`\b(error|http|https|page|file|directory|or|the|requested|resource|url|status|code|was|is|this)\b`)
	noWord     = regexp.MustCompile(`[^a-z]+`)
)

// errorPages are the phrases of HTTP that a page shows instead of content.
var errorPages = map[string]string{
	"unauthorized": "auth", "proxy authentication required": "auth",
	"forbidden": "permission", "access denied": "permission",
	"not found": "not_found", "too many requests": "rate_limited",
	"internal server": "internal", "not implemented": "internal",
	"bad gateway": "transient", "service unavailable": "transient", "service temporarily unavailable": "transient",
	"gateway timeout": "transient", "gateway time out": "transient",
}

// errorPage reports whether a fetched page is an error in disguise: its first
// line is nothing but a phrase of HTTP.
func errorPage(s string) (errorKind, bool) {
	title := statusCode.ReplaceAllString(strings.ToLower(firstLine(s)), " ")
	title = noWord.ReplaceAllString(title, " ")
	title = strings.Join(strings.Fields(filler.ReplaceAllString(title, " ")), " ")
	name, ok := errorPages[title]
	if !ok {
		return errorKind{}, false
	}
	for _, k := range errorKinds {
		if k.name == name {
			return k, true
		}
	}
	return errorKind{}, false
}
