package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Resolver looks names up; [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Documents turns a document into Markdown.
type Documents interface {
	Convert(ctx context.Context, name string, r io.ReaderAt, size int64) (markdown string, err error)
}

// ClientOptions say how a [Client] works. The zero value will do.
type ClientOptions struct {
	Resolver  Resolver          // nil is the system's
	Transport http.RoundTripper // to services; nil is one of its own, through the proxy of the environment
	Documents Documents         // nil: documents are not read
}

// Client makes the requests of all providers in a process. It may be used by
// several goroutines at once.
type Client struct {
	resolver  Resolver
	services  http.RoundTripper
	documents Documents
	// dial connects to an address that was checked.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// How long the parts of a connection may take.
const (
	dialTimeout = 10 * time.Second
	idleTimeout = 30 * time.Second
)

// NewClient makes a client.
func NewClient(o ClientOptions) *Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	c := &Client{resolver: o.Resolver, services: o.Transport, documents: o.Documents, dial: dialer.DialContext}
	if c.resolver == nil {
		c.resolver = net.DefaultResolver
	}
	if c.services == nil {
		c.services = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: 4,
		}
	}
	return c
}

// Close ends the connections that nobody uses.
func (c *Client) Close() {
	if t, ok := c.services.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// transport is the way to one service. A proxy of the entry takes the place of
// the environment's, and direct does without any.
func (c *Client) transport(proxy string, direct bool) (rt http.RoundTripper, done func(), err error) {
	own, isOwn := c.services.(*http.Transport)
	if proxy == "" && !direct || !isOwn {
		return c.services, func() {}, nil
	}
	t := own.Clone()
	t.Proxy = nil
	if proxy != "" {
		u, err := url.Parse(proxy)
		if err != nil || u.Host == "" {
			return nil, nil, failed(KindConfig, "the proxy of the entry is no address: it is not configured correctly")
		}
		t.Proxy = http.ProxyURL(u)
	}
	return t, t.CloseIdleConnections, nil
}
