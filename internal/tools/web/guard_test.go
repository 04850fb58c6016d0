package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// guarded is a client that never leaves the test: it resolves these names and
// dials nothing, but notes what it would have dialled.
func guarded(t *testing.T, r Resolver) (*Client, func() []string) {
	t.Helper()
	c := NewClient(ClientOptions{Resolver: r})
	t.Cleanup(c.Close)
	var mu sync.Mutex
	var dialled []string
	c.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		dialled = append(dialled, address)
		return nil, errors.New("nobody is there")
	}
	return c, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return dialled
	}
}

var guardNames = names{
	"public.example": {"93.184.216.34", "2606:2800:220:1::1"}, "inside.example": {"10.0.0.1"}, "both.example": {"93.184.216.34", "10.1.2.3"},
	"six.example": {"fd00::1"}, "cgnat.example": {"100.64.1.1"}, "cloud.example": {"169.254.169.254"}, "mapped.example": {"::ffff:127.0.0.1"},
	"dns64.example": {"64:ff9b::5db8:d822"}, "dns64-inside.example": {"64:ff9b::a00:1"}, "metadata.google.internal": {"8.8.8.8"}, "intranet": {"192.168.1.5"},
	"localhost": {"127.0.0.1"}, "a.localhost": {"127.0.0.1"},
}

// 10.16-10 beside N05.
func TestN05PrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	c, dialled := guarded(t, guardNames)
	o := Options{Provider: "http", Tool: "web_fetch", Client: c}
	for _, address := range []string{
		"http://169.254.169.254/latest/meta-data/", "http://[::ffff:169.254.169.254]/", "http://metadata.google.internal/", "http://168.63.129.16/",
		"http://100.100.100.200/", "http://[fd00:ec2::254]/",
		"http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/",
		"http://017700000001/", "http://0/", "http://0.0.0.0/", "http://127.0.0.1.:80/", "http://１２７.０.０.１/", "http://127。0。0。1/",
		"http://localhost/", "http://LOCALHOST./", "http://a.localhost/", "http://inside.example/", "http://INSIDE.example./", "http://both.example/",
		"http://six.example/", "http://cgnat.example/", "http://cloud.example/", "http://mapped.example/", "http://dns64-inside.example/", "http://intranet/",
		"http://10.0.0.1/", "http://172.16.0.1:8080/", "http://192.168.0.1/", "http://198.18.0.1/", "http://192.0.2.1/", "http://224.0.0.1/",
		"http://255.255.255.255/", "http://240.0.0.1/",
		"http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::1]/",
		"http://[2002:7f00:1::]/", "http://[2001::1]/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fc00::1]/", "http://[ff02::1]/",
		"http://[2001:db8::1]/", "http://[::ffff:0:127.0.0.1]/",
		"file:///etc/passwd", "FILE:///etc/passwd", "ftp://public.example/", "gopher://public.example/", "javascript:alert(1)", "data:text/html,x",
		"http://user:secret@public.example/", "//public.example/", "public.example", "http://", "http:///x", "https://?x", "http://[bad", "http://nowhere.example/", "",
	} {
		_, err := newHTTP(o).Fetch(t.Context(), address)
		var e *Error
		require.ErrorAs(t, err, &e, address)
		require.Contains(t, []Kind{KindRefused, KindInput}, e.Kind, "%s: %v", address, err)
		require.NotContains(t, e.Message, "secret")
		require.Error(t, o.Check(t.Context(), address), address)
	}
	require.Empty(t, dialled(), "nothing is dialled")
}

func TestN05PublicAddressesAreDialledAsChecked(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://public.example/":          "93.184.216.34:80 [2606:2800:220:1::1]:80",
		"https://public.example:8443/a?b": "93.184.216.34:8443 [2606:2800:220:1::1]:8443",
		"http://134744072/":               "8.8.8.8:80",
		"http://8.8.8.8/":                 "8.8.8.8:80",
		"http://[2606:2800:220:1::1]/":    "[2606:2800:220:1::1]:80",
		"http://dns64.example/":           "[64:ff9b::5db8:d822]:80",
	} {
		c, dialled := guarded(t, guardNames)
		_, err := newHTTP(Options{Client: c}).Fetch(t.Context(), address)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, KindNetwork, e.Kind, "%s: %v", address, err)
		require.Equal(t, want, strings.Join(dialled(), " "))
	}
}

// A name that is public when it is checked and private when it is dialled.
func TestN05RebindingIsRefused(t *testing.T) {
	t.Parallel()
	for _, second := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"} {
		r := &turning{answers: []string{"93.184.216.34", second}}
		c, dialled := guarded(t, r)
		_, err := newHTTP(Options{Client: c}).Fetch(t.Context(), "http://rebind.example/")
		require.ErrorContains(t, err, "private or reserved")
		require.Empty(t, dialled())
		require.Equal(t, 2, r.asked)
	}
}

// turning is a resolver that gives another answer each time.
type turning struct {
	answers []string
	asked   int
}

func (r *turning) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	r.asked++
	return []netip.Addr{netip.MustParseAddr(r.answers[(r.asked-1)%len(r.answers)])}, nil
}

func TestN05OperatorsMayAllowAddresses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values         map[string]any
		allowed, still []string
	}{
		"all": {
			map[string]any{"allow_private_addresses": true},
			[]string{"http://127.0.0.1/", "http://inside.example/", "http://localhost/", "http://[::1]/"},
			[]string{"file:///etc/passwd", "http://user@127.0.0.1/"},
		},
		"all, as text": {map[string]any{"allow_private_addresses": "true"}, []string{"http://both.example/"}, nil},
		"not":          {map[string]any{"allow_private_addresses": "false"}, nil, []string{"http://both.example/", "http://127.0.0.1/"}},
		"one name": {
			map[string]any{"allowed_hosts": []any{"Inside.example"}},
			[]string{"http://inside.example/", "http://INSIDE.EXAMPLE./"},
			[]string{"http://10.0.0.1/", "http://both.example/", "http://x.inside.example.evil.example/"},
		},
		"all names below": {
			map[string]any{"allowed_hosts": "*.example"}, []string{"http://inside.example/", "http://both.example/"}, []string{"http://intranet/", "http://example/"},
		},
		"addresses": {
			map[string]any{"allowed_hosts": []any{"10.0.0.0/8", "127.0.0.1"}},
			[]string{"http://10.9.9.9/", "http://inside.example/", "http://both.example/", "http://127.1/", "http://[::ffff:127.0.0.1]/"},
			[]string{"http://127.0.0.2/", "http://192.168.1.1/", "http://cloud.example/"},
		},
		"all addresses of a name must be allowed": {map[string]any{"allowed_hosts": "93.184.216.34"}, nil, []string{"http://both.example/"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := guarded(t, guardNames)
			o := Options{Client: c, Values: tt.values}
			for _, address := range tt.allowed {
				require.NoError(t, o.Check(t.Context(), address), address)
			}
			for _, address := range tt.still {
				require.Error(t, o.Check(t.Context(), address), address)
			}
		})
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "1.2": "1.0.0.2", "1.2.3": "1.2.0.3", "0x7F.1": "127.0.0.1", "4294967295": "255.255.255.255", "0": "0.0.0.0",
		"4294967296": "", "256.1.1.1": "", "1.2.3.256": "", "1.2.3.4.5": "", "cafe.com": "", "0x": "", "08": "", "1..2": "", "": "", "-1": "", "0xg": "",
	} {
		a, ok := literal(host)
		require.Equal(t, want != "", ok, host)
		if ok {
			require.Equal(t, want, a.String(), host)
		}
	}
}
