package model

import (
	"regexp"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// minSecret is the length below which a header's value is no secret worth
// searching for.
const minSecret = 6

var keyPattern = regexp.MustCompile(`(?i)\bbearer\s+[^\s"',;]+|\b(sk|pk|rk|gsk|xai|key|tok)[-_][A-Za-z0-9_*-]{12,}`)

// redactor takes secrets out of error texts.
type redactor struct {
	secrets []string // longest first
}

func newRedactor(key string, headers map[string]string) *redactor {
	r := &redactor{}
	for _, value := range headers {
		r.secrets = append(r.secrets, value, strings.TrimPrefix(value, "Bearer "))
	}
	r.secrets = slices.DeleteFunc(append(r.secrets, key), func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	return r
}

func (r *redactor) clean(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, redacted)
	}
	return keyPattern.ReplaceAllString(text, redacted)
}
