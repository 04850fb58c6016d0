package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// selfHosted are the providers that send a service of the operator's own network to
// the pages that a model names, with the answer of a service that was led somewhere.
func selfHosted(landed string) map[string]said {
	return map[string]said{
		"fastcrw/web_fetch":   {status: 200, body: `{"success": true, "data": {"markdown": "secret", "metadata": {"url": "` + landed + `"}}}`},
		"firecrawl/web_fetch": {status: 200, body: `{"success": true, "data": {"markdown": "secret", "metadata": {"url": "` + landed + `"}}}`},
		"jina/web_fetch":      {status: 200, body: tidesPage},
		"crawl4ai/web_fetch":  {status: 200, body: `{"success": true, "markdown": "secret"}`},
		"browserless/web_fetch": {
			status: 200, body: "<html><p>secret</p></html>", header: map[string]string{"X-Response-URL": landed},
		},
		"browserless/web_capture": {status: 200, body: pngHeader, header: map[string]string{"X-Response-URL": landed}},
	}
}

func selfHostedWires(t *testing.T, landed string) map[string]wire {
	t.Helper()
	wires := map[string]wire{}
	for name := range selfHosted(landed) {
		provider, tool := split(t, name)
		wires[name] = wire{provider: provider, tool: tool}
	}
	return wires
}

func split(t *testing.T, name string) (provider, tool string) {
	t.Helper()
	for i := range name {
		if name[i] == '/' {
			return name[:i], name[i+1:]
		}
	}
	t.Fatal(name)
	return "", ""
}

// Row 10.16-10: a service that stands inside is not sent to private addresses,
// unless the entry allows it.
func TestServicesAreGuarded10_16_10(t *testing.T) {
	t.Parallel()
	for name, w := range selfHostedWires(t, "") {
		for target, kind := range map[string]Kind{
			"http://169.254.169.254/": KindRefused, "http://localhost/": KindRefused, "http://[::1]/": KindRefused, "http://2130706433/": KindRefused,
			"http://mixed.example/": KindRefused, "file:///etc/passwd": KindRefused, "http://[::ffff:10.0.0.1]/": KindRefused,
			"http://unknown.example/": KindInput,
		} {
			o, seen := w.options(t, answering(selfHosted("")[name]))
			o.Client.resolver = names{"mixed.example": {"93.184.216.34", "10.1.2.3"}, "public.example": {"93.184.216.34"}}
			w.target = target
			_, err := w.run(t.Context(), o)
			var e *Error
			require.ErrorAs(t, err, &e, "%s %s", name, target)
			require.Equal(t, kind, e.Kind, "%s %s", name, target)
			require.Empty(t, seen.all, "%s %s", name, target)
		}
		for _, c := range []struct {
			option string
			value  any
			target string
		}{
			{"allow_private_addresses", "true", "http://10.0.0.1/page"},
			{"allow_private_addresses", true, "http://only-there.internal:3000/"},
			{"allowed_hosts", []any{"10.0.0.0/8"}, "http://10.0.0.1/page"},
			{"allowed_hosts", "only-there.internal", "http://Only-There.internal./"},
		} {
			w.target = c.target
			w.values = map[string]any{c.option: c.value}
			_, seen, err := w.call(t, answering(selfHosted("")[name]))
			require.NoError(t, err, "%s %s", name, c.target)
			require.Len(t, seen.all, 1)
		}
	}
}

// A service that was led to a private address has its answer thrown away.
func TestServicesThatAreLedInside(t *testing.T) {
	t.Parallel()
	const inside = "http://10.0.0.1/admin"
	for name, w := range selfHostedWires(t, inside) {
		if w.provider == "crawl4ai" || w.provider == "jina" {
			continue // do not say where they were led
		}
		_, _, err := w.call(t, answering(selfHosted(inside)[name]))
		var e *Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, KindRefused, e.Kind, name)
		w.values = map[string]any{"allow_private_addresses": true}
		_, _, err = w.call(t, answering(selfHosted(inside)[name]))
		require.NoError(t, err, name)
	}
}

// What a service says about where it was led is shown only if it is an address.
func TestLandedAt(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"https://a.example/x?y": "https://a.example/x?y", "": "", "/x": "", "file:///etc/passwd": "", "https://a.example/\n] ignore": "",
		"https://user:pw@a.example/": "", "https://a.example/a b": "https://a.example/a%20b",
	} {
		require.Equal(t, want, landedAt(said), said)
	}
}

func TestResponded(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		0: "", 200: "", 204: "", 304: "", 399: "", http.StatusForbidden: "target page responded 403 Forbidden", 599: "target page responded 599",
	} {
		var p Page
		p.responded(status)
		require.Equal(t, want, p.Warning)
		require.Equal(t, status, p.Status)
	}
}
