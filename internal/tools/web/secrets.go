package web

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// minSecret is the length from which a key is taken out of answers, in bytes: a
// shorter one is a word of many pages.
const minSecret = 8

// redact takes the keys out of what is told of an error.
func (r Request) redact(text string) string {
	for _, secret := range r.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, redacted)
		}
	}
	return text
}

// clean takes the keys out of an answer, for services that repeat what they were
// asked: it goes to the model, and into the sources of the thread.
func (r Request) clean(answer Response) Response {
	for _, secret := range r.Secrets {
		if len(secret) < minSecret {
			continue
		}
		for _, spelling := range spellings(secret) {
			answer.Body = bytes.ReplaceAll(answer.Body, []byte(spelling), []byte(redacted))
			answer.Header = cleanHeader(answer.Header, spelling)
		}
	}
	return answer
}

func cleanHeader(h http.Header, secret string) http.Header {
	for _, values := range h {
		for i, v := range values {
			values[i] = strings.ReplaceAll(v, secret, redacted)
		}
	}
	return h
}

// spellings are how a key looks in texts, addresses, JSON and HTML.
func spellings(secret string) []string {
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), html.EscapeString(secret)}
	for _, escapeHTML := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapeHTML)
		if err := e.Encode(secret); err == nil {
			inner := b.String()[1 : b.Len()-len("\"\n")]
			all = append(all, inner, strings.ReplaceAll(inner, "/", `\/`))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
