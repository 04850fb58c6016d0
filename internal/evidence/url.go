package evidence

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// maxURL is the length from which an address is none that anybody cites.
const maxURL = 4096

// Key is the form in which addresses are compared: two that show the same page
// to everybody have the same key. The scheme, "www.", a default port, the
// fragment, a slash at the end, the order of the query and the parameters by
// which visitors are tracked make no difference. What is no address of a web page
// has no key.
func Key(address string) (key string, ok bool) {
	u, ok := parse(address)
	if !ok {
		return "", false
	}
	host := comparedHost(u)
	path := strings.TrimRight((&url.URL{Path: u.Path}).EscapedPath(), "/")
	if query := comparedQuery(u); query != "" {
		return host + path + "?" + query, true
	}
	return host + path, true
}

func parse(address string) (*url.URL, bool) {
	address = strings.TrimSpace(address)
	if len(address) > maxURL {
		return nil, false
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
		return nil, false
	}
	return u, u.Hostname() != ""
}

func comparedHost(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	if rest, ok := strings.CutPrefix(host, "www."); ok && strings.Contains(rest, ".") {
		host = rest
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host += ":" + port
	}
	return host
}

// comparedQuery is the query in the order of its names, without the parameters
// that only tell where a visitor comes from.
func comparedQuery(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	var kept []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		if name != "" && !tracks(name) {
			kept = append(kept, url.QueryEscape(name)+"="+url.QueryEscape(value))
		}
	}
	slices.Sort(kept)
	return strings.Join(kept, "&")
}

func tracks(parameter string) bool {
	switch p := strings.ToLower(parameter); p {
	case "gclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "dclid", "igshid", "mc_cid", "mc_eid", "ref_src", "srsltid", "spm":
		return true
	default:
		return strings.HasPrefix(p, "utm_")
	}
}

// isPublic reports whether an address can be that of a page in the web. One of
// this machine or of a private network is what a text tells people to open.
func isPublic(u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast() && !ip.IsUnspecified()
	}
	if !strings.Contains(host, ".") {
		return false
	}
	for _, end := range []string{".localhost", ".local", ".internal", ".test", ".invalid", ".lan", ".home.arpa"} {
		if strings.HasSuffix(host, end) {
			return false
		}
	}
	return true
}
