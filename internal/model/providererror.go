package model

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"deerflow/internal/thread"
)

// maxErrorText is how much of a provider's error text is kept, in bytes.
const maxErrorText = 1000

// providerError is what an error body says.
type providerError struct {
	message string
	code    string
	kind    string // its "type"
	status  int    // named in the body
}

// errorObject is an error under all the names in use.
type errorObject struct {
	Error     json.RawMessage `json:"error"`
	Errors    json.RawMessage `json:"errors"`
	Message   json.RawMessage `json:"message"`
	Msg       json.RawMessage `json:"msg"`
	ErrorMsg  json.RawMessage `json:"error_msg"`
	Detail    json.RawMessage `json:"detail"`
	StatusMsg json.RawMessage `json:"status_msg"`
	Metadata  json.RawMessage `json:"metadata"`
	Code      looseString     `json:"code"`
	ErrorCode looseString     `json:"error_code"`
	Type      looseString     `json:"type"`
	Status    looseString     `json:"status"`
	Object    looseString     `json:"object"`

	StatusCode looseInt        `json:"status_code"`
	BaseResp   json.RawMessage `json:"base_resp"`
}

// hasError reports whether an error field says anything.
func hasError(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "{}", "false", "[]":
		return false
	}
	return true
}

// chunkError is the error that an event carries, nil when it carries none.
func chunkError(data []byte, noChoices bool) error {
	e, ok := object[errorObject](data)
	if !ok {
		return nil
	}
	switch base, _ := object[errorObject](e.BaseResp); {
	case hasError(e.Error):
		return streamError(e.Error)
	case e.Type == "error", e.Object == "error":
		return streamError(data)
	case noChoices && base.StatusCode.n != 0:
		return streamError(e.BaseResp)
	case noChoices && (hasError(e.Errors) || hasError(e.Detail) || hasError(e.Message) || hasError(e.Msg) || hasError(e.ErrorMsg)):
		return streamError(data)
	}
	return nil
}

// parseProviderError reads an error in any of the shapes that are in use: JSON
// of several kinds, a web page, plain text.
func parseProviderError(body []byte) providerError {
	body = bytes.TrimSpace(body)
	var p providerError
	if !hasError(body) {
		return p
	}
	p.read(body, 0)
	if p.message == "" && p.code == "" && p.kind == "" {
		p.message = plainText(body)
	}
	p.message, p.code, p.kind = readable(p.message), readable(p.code), readable(p.kind)
	if n, err := strconv.Atoi(p.code); err == nil && n >= 400 && n < 600 {
		p.status, p.code = n, ""
	}
	return p
}

// tags are the provider's own names for the error.
func (p providerError) tags() string { return strings.ToLower(p.code + " " + p.kind) }

// maxErrorDepth ends the search in nested errors.
const maxErrorDepth = 4

func (p *providerError) read(raw []byte, depth int) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth > maxErrorDepth {
		return
	}
	switch raw[0] {
	case '"':
		if text, ok := unquote(raw); ok {
			var j joiner
			p.message = firstOf(p.message, j.push(text))
		}
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) == nil && len(items) > 0 {
			p.read(items[0], depth+1)
		}
	case '{':
		if e, ok := object[errorObject](raw); ok {
			p.readObject(&e, depth)
		}
	}
}

func (p *providerError) readObject(e *errorObject, depth int) {
	for _, inner := range []json.RawMessage{e.Error, e.BaseResp, e.Errors} {
		if hasError(inner) {
			p.read(inner, depth+1)
		}
	}
	for _, text := range []json.RawMessage{e.Message, e.Msg, e.ErrorMsg, e.StatusMsg, e.Detail} {
		if p.message == "" && hasError(text) {
			p.read(text, depth+1)
		}
	}
	code := e.Code
	if code == "" {
		code = e.ErrorCode
	}
	if code == "" && e.StatusCode.n != 0 {
		code = looseString(strconv.Itoa(e.StatusCode.n))
	}
	if code == "" {
		code = e.Status
	}
	p.code = firstOf(p.code, string(code))
	if e.Type != "error" {
		p.kind = firstOf(p.kind, string(e.Type))
	}
	var meta struct {
		Raw looseString `json:"raw"` // a router's quotation of the provider behind it
	}
	if json.Unmarshal(e.Metadata, &meta) == nil && meta.Raw != "" {
		p.message = strings.TrimSpace(p.message + " " + string(meta.Raw))
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

var (
	titlePattern  = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	hiddenPattern = regexp.MustCompile(`(?is)<(script|style|head)[^>]*>.*?</(script|style|head)>`)
	tagPattern    = regexp.MustCompile(`(?s)<[^>]*>`)
)

// plainText makes a sentence of a body that is no JSON. Of a web page it is the
// title.
func plainText(body []byte) string {
	if body[0] != '<' {
		return string(body)
	}
	if m := titlePattern.FindSubmatch(body); m != nil && len(bytes.TrimSpace(m[1])) > 0 {
		return "a web page instead of an answer: " + html.UnescapeString(string(m[1]))
	}
	text := tagPattern.ReplaceAll(hiddenPattern.ReplaceAll(body, nil), []byte(" "))
	return "a web page instead of an answer: " + html.UnescapeString(string(text))
}

// readable makes one line of bounded length of a text.
func readable(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxErrorText {
		s = thread.Prefix(s, maxErrorText) + "..."
	}
	return s
}
