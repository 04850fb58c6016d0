package web

import (
	"net/url"
	"strings"
)

// SafeImageURL is the address of an image as a provider gives it, or "" if a page
// or a model that loads it would be led to this machine or a private network. It
// looks at the text alone: a name that resolves to a private address passes.
func SafeImageURL(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host := strings.TrimRight(strings.ToLower(u.Hostname()), ".")
	if host == "" || localName(host) {
		return ""
	}
	if a, ok := literal(host); ok && !public(a) {
		return ""
	}
	return u.String()
}
