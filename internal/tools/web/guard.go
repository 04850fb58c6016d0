package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Policy is what an operator allows beside the public internet.
type Policy struct {
	// AllowPrivate allows every address.
	AllowPrivate bool
	// Allow are hosts that may be anywhere: a name, "*.name" for all below it, an
	// address, or a block of addresses like 10.1.0.0/16.
	Allow []string
}

// allowsName reports whether the operator named this host.
func (p Policy) allowsName(host string) bool {
	if p.AllowPrivate {
		return true
	}
	for _, entry := range p.Allow {
		entry = strings.TrimSuffix(strings.ToLower(entry), ".")
		if parent, ok := strings.CutPrefix(entry, "*."); ok && strings.HasSuffix(host, "."+parent) || entry == host {
			return true
		}
	}
	return false
}

// allows reports whether an address may be dialled.
func (p Policy) allows(a netip.Addr) bool {
	if p.AllowPrivate || public(a) {
		return true
	}
	for _, entry := range p.Allow {
		if one, err := netip.ParseAddr(entry); err == nil && one.Unmap() == a.Unmap() {
			return true
		}
		if block, err := netip.ParsePrefix(entry); err == nil && block.Contains(a.Unmap()) {
			return true
		}
	}
	return false
}

// ParseAddress reads the address of a page: absolute, with http or https, a host,
// and no user name.
func ParseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return nil, failed(KindInput, "that is no valid URL")
	case u.Scheme == "":
		return nil, failed(KindInput, "the URL must begin with https:// or http://")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, failed(KindRefused, "only URLs with http or https are visited, not %.20s:", u.Scheme)
	case u.Hostname() == "":
		return nil, failed(KindInput, "the URL has no host")
	case u.User != nil:
		return nil, failed(KindRefused, "URLs with a user name in them are not visited")
	}
	return u, nil
}

// Check reads the address of a page and refuses those that lead to this machine,
// a private network or anything else that is not the public internet, in
// whatever way it is written. All addresses that a name has must be allowed; a name
// that the operator allows is not looked up, since it may mean something only where
// a service runs. What dials afterwards has to make sure itself that the name still
// means the same.
func (c *Client) Check(ctx context.Context, address string, p Policy) (*url.URL, error) {
	u, err := ParseAddress(address)
	if err != nil || p.allowsName(plainName(u.Hostname())) {
		return u, err
	}
	_, err = c.resolve(ctx, u.Hostname(), p)
	return u, err
}

// plainName is the one spelling of a host.
func plainName(host string) string {
	name := strings.TrimRight(strings.ToLower(host), ".")
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		return ascii // full-width digits and letters are digits and letters
	}
	return name
}

// resolve gives the addresses of a host, all of them allowed.
func (c *Client) resolve(ctx context.Context, host string, p Policy) ([]netip.Addr, error) {
	name := plainName(host)
	if a, ok := literal(name); ok {
		if !p.allows(a) && !p.allowsName(name) {
			return nil, refused(host)
		}
		return []netip.Addr{a.Unmap()}, nil
	}
	named := p.allowsName(name)
	if localName(name) && !named {
		return nil, refused(host)
	}
	all, err := c.resolver.LookupNetIP(ctx, "ip", name)
	if err != nil || len(all) == 0 {
		return nil, unresolved(ctx, host, err)
	}
	for i, a := range all {
		if !named && !p.allows(a) {
			return nil, refused(host)
		}
		all[i] = a.Unmap()
	}
	// Without IPv6 in the network its addresses may fail slowly.
	slices.SortStableFunc(all, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return all, nil
}

func refused(host string) *Error {
	return failed(KindRefused, "%.100s leads to a private or reserved address, which is not visited", host)
}

func unresolved(ctx context.Context, host string, err error) error {
	var dns *net.DNSError
	switch {
	case ctx.Err() != nil || errors.As(err, &dns) && dns.IsTimeout:
		return failed(KindTimeout, "looking up the host %.100s timed out", host)
	case err == nil || errors.As(err, &dns) && dns.IsNotFound:
		return failed(KindInput, "the host %.100s was not found", host)
	}
	return failed(KindNetwork, "the host %.100s cannot be looked up: network error", host)
}

// dialChecked connects to a host by one of the addresses that were checked, never
// by its name, which may mean something else a moment later.
func (c *Client) dialChecked(p Policy) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		all, err := c.resolve(ctx, host, p)
		if err != nil {
			return nil, err
		}
		var problems []error
		for _, a := range all {
			conn, err := c.dial(ctx, network, net.JoinHostPort(a.String(), port))
			if err == nil {
				return conn, nil
			}
			problems = append(problems, err)
		}
		return nil, errors.Join(problems...)
	}
}
