package remote

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// newHTTPClient makes the client for machines and provisioner. It follows no
// redirect: the keys are for one address.
func newHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: proxy, DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// proxy leads around the proxy of the environment for machines nearby, which it
// could not reach.
func proxy(r *http.Request) (*url.URL, error) {
	if nearby(r.URL.Hostname()) {
		return nil, nil //nolint:nilnil // no proxy is an answer
	}
	return http.ProxyFromEnvironment(r)
}

// nearby reports whether a host is on this machine, in a private network, or known
// inside a cluster alone.
func nearby(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !strings.Contains(host, ".") {
		return true
	}
	for _, ending := range []string{".localhost", ".local", ".internal", ".svc", ".lan"} {
		if strings.HasSuffix(host, ending) {
			return true
		}
	}
	return false
}
