package devserver

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

type uiRequest struct {
	method, path, host, body string
	header                   http.Header
}

func (r uiRequest) send(tb testing.TB, address string) (int, string, http.Header) {
	tb.Helper()
	if r.method == "" {
		r.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(tb.Context(), r.method, "http://"+address+r.path, strings.NewReader(r.body))
	require.NoError(tb, err)
	if r.host != "" {
		req.Host = r.host
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	noRedirect := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := noRedirect.Do(req)
	require.NoError(tb, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(tb, err)
	return resp.StatusCode, string(b), resp.Header
}

func TestUIPages(t *testing.T) {
	t.Parallel()
	code, body, _ := uiRequest{path: "/healthz"}.send(t, shared.UIAddress())
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "OK")

	code, body, _ = uiRequest{path: "/namespaces/default/workflows"}.send(t, shared.UIAddress())
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "<html")
	_, script, ok := strings.Cut(body, `"/_app/`)
	require.True(t, ok, "the page loads its own scripts")
	script, _, _ = strings.Cut(script, `"`)
	code, _, header := uiRequest{path: "/_app/" + script}.send(t, shared.UIAddress())
	require.Equal(t, http.StatusOK, code)
	require.NotContains(t, header.Get("Content-Type"), "html")
}

func TestUISettings(t *testing.T) {
	t.Parallel()
	code, body, _ := uiRequest{path: "/api/v1/settings"}.send(t, shared.UIAddress())
	require.Equal(t, http.StatusOK, code)
	var settings struct {
		DefaultNamespace    string
		DisableNewsFetch    bool
		DisableWriteActions bool
		Codec               struct{ Endpoint string }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &settings))
	require.Equal(t, "default", settings.DefaultNamespace)
	require.True(t, settings.DisableNewsFetch)
	require.False(t, settings.DisableWriteActions)
	require.Empty(t, settings.Codec.Endpoint)
}

// Thread workflows have a slash in their id.
func TestUIReachesTheFrontend(t *testing.T) {
	t.Parallel()
	c := dial(t, shared)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "thread/ui", TaskQueue: "none"}, "None")
	require.NoError(t, err)
	for _, path := range []string{
		"/api/v1/namespaces/default/workflows/thread%2Fui?execution.runId=" + run.GetRunID(),
		"/api/v1/namespaces/default/workflows/thread%2Fui/run/" + run.GetRunID() + "/history.json",
		"/api/v1/cluster-info",
	} {
		code, body, _ := uiRequest{path: path}.send(t, shared.UIAddress())
		require.Equal(t, http.StatusOK, code, "%s: %s", path, body)
		require.NotEmpty(t, body)
	}
}

func TestUIRefusesForeignPages(t *testing.T) {
	t.Parallel()
	const terminate = "/api/v1/namespaces/default/workflows/absent/terminate"
	token := strings.Repeat("0123456789abcdef", 2)
	cookie := []string{"_csrf=" + token}
	_, port, _ := strings.Cut(shared.UIAddress(), ":")
	tests := map[string]struct {
		request uiRequest
		want    int
	}{
		"name of a page that resolves to loopback": {uiRequest{path: "/", host: "evil.example:" + port}, http.StatusForbidden},
		"address of another host":                  {uiRequest{path: "/", host: "192.0.2.1"}, http.StatusForbidden},
		"no host":                                  {uiRequest{path: "/", host: ":" + port}, http.StatusForbidden},
		"localhost":                                {uiRequest{path: "/", host: "localhost:" + port}, http.StatusOK},
		"IPv6 loopback":                            {uiRequest{path: "/", host: "[::1]:" + port}, http.StatusOK},
		"write from another site": {
			uiRequest{method: http.MethodPost, path: terminate, header: http.Header{
				"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}, "Cookie": cookie,
			}}, http.StatusForbidden,
		},
		"write without a token": {
			uiRequest{method: http.MethodPost, path: terminate, header: http.Header{"Cookie": cookie}}, http.StatusBadRequest,
		},
		"write by the page itself": {
			uiRequest{method: http.MethodPost, path: terminate, body: "{}", header: http.Header{
				"Sec-Fetch-Site": {"same-origin"}, "Cookie": cookie, "X-Csrf-Token": {token},
			}}, http.StatusNotFound, // the frontend was asked
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, body, _ := test.request.send(t, shared.UIAddress())
			require.Equal(t, test.want, code, body)
		})
	}
}

func TestUIUnderPublicPath(t *testing.T) {
	t.Parallel()
	conn, err := dialFrontend(shared.FrontendAddress())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	l, err := listenLoopback(t.Context(), 0, "the test")
	require.NoError(t, err)
	address := l.Addr().String()
	u, err := startUI(l, shared.FrontendAddress(), Options{Namespace: "default", UIPublicPath: "/temporal", Logger: quietLogger()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, u.stop(t.Context())) })

	code, body, _ := uiRequest{path: "/temporal/namespaces"}.send(t, address)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `base: "/temporal"`)
	code, _, _ = uiRequest{path: "/temporal/api/v1/cluster-info"}.send(t, address)
	require.Equal(t, http.StatusOK, code)
	code, _, header := uiRequest{path: "/namespaces"}.send(t, address)
	require.Equal(t, http.StatusPermanentRedirect, code)
	require.Equal(t, "/temporal/namespaces", header.Get("Location"))
}
