package web

import (
	"net/netip"
	"strconv"
	"strings"
)

// special are the blocks of addresses that no page of the public internet has: the
// registries of special-purpose addresses of IANA, and 6to4 and Teredo, which lead
// somewhere else.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

// globalIPv6 is all that has been given out of IPv6 for the public.
var globalIPv6 = netip.MustParsePrefix("2000::/3")

// nat64 stands for an address of IPv4 in networks that have none: its last 32 bits.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// metadata are the addresses under which clouds hand out credentials and that are
// not in a private block.
var metadata = prefixes("168.63.129.16/32")

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// public reports whether an address is one of the public internet. One that
// stands for an address of IPv4 is as public as that.
func public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	if a = a.Unmap(); nat64.Contains(a) {
		bytes := a.As16()
		a = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if !a.IsValid() || a.Is6() && !globalIPv6.Contains(a) {
		return false
	}
	return !within(special, a) && !within(metadata, a)
}

func within(blocks []netip.Prefix, a netip.Addr) bool {
	for _, p := range blocks {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// literal is the address that a host of a URL spells out, in any way that programs
// understand: 127.0.0.1, [::1], and the old forms of IPv4 with fewer parts, hex and
// octal numbers.
func literal(host string) (netip.Addr, bool) {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		n, ok := oldNumber(part)
		if !ok {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			value |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(8*(5-len(parts))) { // the last one fills what is left
			return netip.Addr{}, false
		}
		value |= n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// oldNumber reads a part of an address as C does: 0x is hex, a leading 0 octal.
func oldNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case len(s) > 2 && strings.EqualFold(s[:2], "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 33)
	return n, err == nil
}

// localName reports whether a name means this machine or this network, whatever it
// resolves to.
func localName(host string) bool {
	switch host {
	case "localhost", "metadata", "metadata.google.internal", "instance-data":
		return true
	}
	return strings.HasSuffix(host, ".localhost")
}
