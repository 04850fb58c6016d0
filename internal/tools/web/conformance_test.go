package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secretKey is the key that [conform] gives a provider; no error may show it.
const secretKey = "k-3f9c-secret"

// wire is how a provider talks, for [conform].
type wire struct {
	provider string
	tool     string         // web_search, web_fetch, image_search or web_capture
	values   map[string]any // options beside base_url, api_key and the timeout
	keyless  bool           // it takes no key
	timeout  string         // name of the option for the timeout; empty is timeout
	seconds  float64        // the timeout; 0 is 5
	target   string         // the page to fetch; empty is a public one

	ok     string // the body of a success
	okType string // its content type; empty is JSON
	want   any    // what the call returns then: []Hit, Page, []Image or Shot
	check  func(t *testing.T, r *http.Request, body string)

	empty     string // the body of an answer with nothing in it; empty: there is none
	wantEmpty string // part of the error for it; empty: no error and no hits

	// malformed are bodies that are errors of KindFormat; nil are those of JSON
	// that is broken or of another shape.
	malformed []string
}

// said is an answer of a server.
type said struct {
	status int
	header map[string]string
	body   string
}

// conform checks what every provider has to do: a success, nothing, refusals,
// limits, answers that are broken, slow, cut or without end.
func conform(t *testing.T, w wire) {
	t.Helper()
	kind := w.okType
	if kind == "" {
		kind = "application/json"
	}
	good := said{status: 200, header: map[string]string{"Content-Type": kind}, body: w.ok}
	t.Run("success", func(t *testing.T) {
		got, seen, err := w.call(t, answering(good))
		require.NoError(t, err)
		require.Equal(t, w.want, got)
		require.NotEmpty(t, seen.all)
		if w.check != nil {
			last := seen.all[len(seen.all)-1]
			w.check(t, last.request, last.body)
		}
	})
	if w.empty != "" {
		t.Run("empty", func(t *testing.T) {
			empty := good
			empty.body = w.empty
			got, _, err := w.call(t, answering(empty))
			if w.wantEmpty == "" {
				require.NoError(t, err)
				require.Empty(t, got)
				return
			}
			require.ErrorContains(t, err, w.wantEmpty)
		})
	}
	t.Run("refused", w.refused)
	t.Run("malformed", w.isMalformed)
	t.Run("broken", w.broken)
	t.Run("options", func(t *testing.T) { w.readsItsOptions(t, answering(good)) })
}

// refused checks statuses that are no success.
func (w wire) refused(t *testing.T) {
	t.Helper()
	for _, status := range []int{400, 401, 403, 404, 429, 500, 502, 503} {
		_, seen, err := w.call(t, answering(said{
			status: status, header: map[string]string{"Content-Type": "application/json", "Retry-After": "7"},
			body: `{"error": {"message": "no, not with ` + secretKey + `"}}`,
		}))
		var e *Error
		require.ErrorAs(t, err, &e, "%d", status)
		require.Equal(t, KindStatus, e.Kind, "%d", status)
		require.Equal(t, status, e.Status)
		require.Equal(t, 7*time.Second, e.RetryAfter)
		require.Contains(t, e.Message, fmt.Sprintf("HTTP %d", status))
		require.Equal(t, w.keyless, strings.Contains(e.Message, secretKey), "a key in an error")
		require.Len(t, seen.all, 1, "a refusal is not asked for again")
	}
	_, _, err := w.call(t, answering(said{status: 502, header: map[string]string{"Content-Type": "text/html"}, body: "<html><h1>Bad gateway</h1>"}))
	require.ErrorContains(t, err, "HTTP 502")
	require.NotContains(t, err.Error(), "<")
}

func (w wire) isMalformed(t *testing.T) {
	t.Helper()
	bodies := w.malformed
	if bodies == nil {
		bodies = []string{"", `{"results": [`, `[1, 2]`, `"text"`, " null\n", `<html><title>Welcome</title><body>hello</body></html>`, "\x00\x01\x02"}
	}
	for _, body := range bodies {
		_, _, err := w.call(t, answering(said{status: 200, header: map[string]string{"Content-Type": "application/json"}, body: body}))
		var e *Error
		require.ErrorAs(t, err, &e, "%q", body)
		require.Equal(t, KindFormat, e.Kind, "%q: %v", body, err)
	}
}

// broken checks answers that do not come, not whole, or without end, and a
// redirect that would carry the key elsewhere.
func (w wire) broken(t *testing.T) {
	t.Helper()
	slow := w
	slow.seconds = 0.2
	kindOf := func(w wire, h http.HandlerFunc) Kind {
		_, _, err := w.call(t, h)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.NotContains(t, e.Message, secretKey)
		return e.Kind
	}
	require.Equal(t, KindTimeout, kindOf(slow, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // without it the server does not see that the client left
		<-r.Context().Done()
	}), "slow")
	require.Equal(t, KindNetwork, kindOf(w, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"results"`)
	}), "cut")
	require.Equal(t, KindFormat, kindOf(w, func(w http.ResponseWriter, _ *http.Request) {
		for line := strings.Repeat("x", 1<<16); ; {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	}), "huge")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request went to another host") }))
	defer elsewhere.Close()
	require.Equal(t, KindNetwork, kindOf(w, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}), "redirect")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, _ := w.options(t, answering(said{status: 200, body: w.ok}))
	_, err := w.run(ctx, o)
	require.Error(t, err, "cancelled")
}

// seen are the requests that a server got.
type seen struct {
	mu  sync.Mutex
	all []seenRequest
}

type seenRequest struct {
	request *http.Request
	body    string
}

func answering(a said) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range a.header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}
}

func (w wire) call(t *testing.T, h http.HandlerFunc) (any, *seen, error) {
	t.Helper()
	o, s := w.options(t, h)
	got, err := w.run(t.Context(), o)
	s.mu.Lock()
	defer s.mu.Unlock()
	return got, s, err
}

// options are those of an entry whose service is a server with this handler.
func (w wire) options(t *testing.T, h http.HandlerFunc) (Options, *seen) {
	t.Helper()
	s := &seen{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.all = append(s.all, seenRequest{r, string(body)})
		s.mu.Unlock()
		h(rw, r)
	}))
	o := testOptions(t, w.provider, w.tool, map[string]any{"base_url": server.URL})
	t.Cleanup(server.Close)
	if !w.keyless {
		o.Values["api_key"] = secretKey
	}
	for name, value := range w.values {
		o.Values[name] = value
	}
	name := w.timeout
	if name == "" {
		name = "timeout"
	}
	o.Values[name] = 5
	if w.seconds > 0 {
		o.Values[name] = w.seconds
	}
	return o, s
}

// testOptions are options with a client that ends with the test, and a resolver
// that knows no name but public.example.
func testOptions(t *testing.T, provider, tool string, values map[string]any) Options {
	t.Helper()
	c := NewClient(ClientOptions{Resolver: names{"public.example": {"93.184.216.34"}}})
	t.Cleanup(c.Close)
	return Options{Provider: provider, Tool: tool, Values: values, Client: c, Warn: func(text string) { t.Log(text) }}
}

// run calls the tool of the provider.
func (w wire) run(ctx context.Context, o Options) (any, error) {
	p, ok := Find(w.provider)
	if !ok {
		return nil, errors.New("no provider " + w.provider)
	}
	target := w.target
	if target == "" {
		target = "https://public.example/page"
	}
	switch w.tool {
	case "web_search":
		return p.Search(o).Search(ctx, Query{Text: "tides at sea"})
	case "web_fetch":
		return p.Fetch(o).Fetch(ctx, target)
	case "image_search":
		return p.Images(o).SearchImages(ctx, ImageQuery{Text: "tides at sea"})
	case "web_capture":
		return p.Capture(o).Capture(ctx, CaptureRequest{URL: target})
	}
	return nil, errors.New("no tool " + w.tool)
}

// names is a resolver that knows these names.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, text := range n[host] {
		all = append(all, netip.MustParseAddr(text))
	}
	if len(all) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return all, nil
}
