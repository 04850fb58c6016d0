package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
)

func TestHostCheck(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) { o.AllowedHosts = []string{"app.example.com", "api:2026"} })
	for host, status := range map[string]int{
		"localhost": 200, "localhost:2026": 200, "127.0.0.1:1": 200, "127.9.9.9": 200, "[::1]:2026": 200, "LOCALHOST.": 200, "x.localhost:80": 200,
		"app.example.com": 200, "APP.example.com:8443": 200, "api:2026": 200,
		"evil.example": 403, "evil.example:2026": 403, "192.168.1.5": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "api:2027": 403,
		"notlocalhost": 403, "0.0.0.0": 403,
	} {
		e.check(t, scenario{method: "POST", path: "/threads/search", header: map[string]string{"Host": host}, status: status})
		e.check(t, scenario{method: "GET", path: "/health", header: map[string]string{"Host": host}, status: 200})
	}
}

func TestOriginCheck(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) { o.AllowedOrigins = []string{"https://app.example.com"} })
	own := e.http.URL
	for _, s := range []struct {
		name   string
		method string
		header map[string]string
		status int
		cors   string
	}{
		{"a program", "POST", nil, 200, ""},
		{"our own page", "POST", map[string]string{"Origin": own}, 200, ""},
		{"our own page behind a proxy", "POST", map[string]string{"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-origin"}, 200, ""},
		{"typed by hand", "POST", map[string]string{"Sec-Fetch-Site": "none"}, 200, ""},
		{"a foreign page", "POST", map[string]string{"Origin": "https://evil.example"}, 403, ""},
		{"a foreign page, new browser", "POST", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403, ""},
		{"another port of this machine", "POST", map[string]string{"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}, 403, ""},
		{"a sandboxed frame", "POST", map[string]string{"Origin": "null"}, 403, ""},
		{"a form without origin", "POST", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, ""},
		{"a listed page", "POST", map[string]string{"Origin": "https://app.example.com", "Sec-Fetch-Site": "cross-site"}, 200, "https://app.example.com"},
		{"a preflight of a listed page", "OPTIONS", map[string]string{"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}, 204, "https://app.example.com"},
		{"like a listed page", "POST", map[string]string{"Origin": "https://app.example.com.evil.example"}, 403, ""},
	} {
		t.Run(s.name, func(t *testing.T) {
			status, header, body := e.do(t, s.method, "/threads/search", "", s.header)
			require.Equal(t, s.status, status, body)
			require.Equal(t, s.cors, header.Get("Access-Control-Allow-Origin"))
			if s.cors != "" {
				require.Equal(t, "true", header.Get("Access-Control-Allow-Credentials"))
				require.Contains(t, header.Get("Access-Control-Expose-Headers"), "Content-Location")
			}
			if s.method == "OPTIONS" {
				require.Equal(t, "x-api-key", header.Get("Access-Control-Allow-Headers"))
			}
		})
	}
	_, header, _ := e.do(t, "OPTIONS", "/threads/search", "", map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"})
	require.Empty(t, header.Get("Access-Control-Allow-Origin"))
	status, header, _ := e.do(t, "GET", "/ok", "", map[string]string{"Origin": "https://evil.example"})
	require.Equal(t, 200, status, "a read is harmless: the page cannot see the answer")
	require.Empty(t, header.Get("Access-Control-Allow-Origin"))
}

func TestUnknownRoutes(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.check(t, scenario{method: "GET", path: "/nope", status: 404, want: []string{`{"detail":"Not Found"}`}})
	e.check(t, scenario{method: "GET", path: "/api/threads/t/nope", status: 404, want: []string{`{"detail":"Not Found"}`}})
	e.check(t, scenario{method: "PUT", path: "/threads/t", status: 405, want: []string{`{"detail":"Method Not Allowed"}`}})
}

// lockedBuffer is a log that many goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestPanicsAreAnswered(t *testing.T) {
	t.Parallel()
	var logged lockedBuffer
	e := newEnv(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	e.server.echo.GET("/panic", func(echo.Context) error { panic("secret") })
	e.server.echo.GET("/half", func(c echo.Context) error {
		c.Response().WriteHeader(http.StatusOK)
		_, _ = c.Response().Write([]byte("half"))
		c.Response().Flush()
		panic("in the middle")
	})
	status, header, body := e.do(t, "GET", "/panic", "", map[string]string{"X-Request-Id": "req-7"})
	require.Equal(t, 500, status)
	require.Contains(t, body, `"request_id":"req-7"`)
	require.NotContains(t, body, "secret")
	require.Equal(t, "req-7", header.Get("X-Request-Id"))
	require.Contains(t, logged.String(), "secret")
	require.Contains(t, logged.String(), "req-7")
	require.Contains(t, logged.String(), "security_test.go", "with the place")

	status, header, _ = e.do(t, "GET", "/ok", "", map[string]string{"X-Request-Id": "a b\tc"})
	require.Equal(t, 200, status)
	require.Len(t, header.Get("X-Request-Id"), 36, "an odd id is replaced")

	res, err := e.http.Client().Get(e.http.URL + "/half")
	require.NoError(t, err)
	_, err = new(bytes.Buffer).ReadFrom(res.Body)
	require.Error(t, err, "half an answer does not look whole")
	require.NoError(t, res.Body.Close())
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	faults := map[string]error{}
	check := func(name string) func(context.Context) error {
		return func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			return faults[name]
		}
	}
	e := newEnv(t, func(o *Options) { o.TemporalHealth, o.WorkerHealth = check("temporal"), check("worker") })
	e.check(t, scenario{method: "GET", path: "/health", status: 200, want: []string{`"status":"healthy"`, `"service":"deerflow"`, `"version":"1.2.3"`, `"worker":"ok"`}})
	e.check(t, scenario{method: "GET", path: "/api/health", status: 200})
	e.check(t, scenario{method: "GET", path: "/ok", status: 200, want: []string{`{"ok":true}`}})
	e.check(t, scenario{method: "GET", path: "/info", status: 200, want: []string{`"version":"1.2.3"`, `"flags":{`, `"default_model":"demo"`}})
	for _, name := range []string{"temporal", "worker"} {
		mu.Lock()
		faults = map[string]error{name: errors.New("away")}
		mu.Unlock()
		e.check(t, scenario{method: "GET", path: "/health", status: 503, want: []string{`"status":"unhealthy"`, `"detail":"` + name + `: away"`, `"database":"ok"`}})
	}
	broken := newEnv(t)
	require.NoError(t, broken.closeStore())
	broken.check(t, scenario{method: "GET", path: "/health", status: 503, want: []string{`"detail":"database: `}})
}

// TestHTTPServerTimeouts: a client that never finishes its headers is dropped.
func TestHTTPServerTimeouts(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	h := e.server.HTTPServer()
	require.Positive(t, h.ReadHeaderTimeout)
	require.Zero(t, h.WriteTimeout, "streams are written for hours")
	h.ReadHeaderTimeout = 20 * time.Millisecond
	web := httptest.NewUnstartedServer(nil)
	web.Config = h
	web.Start()
	defer web.Close()
	conn, err := new(net.Dialer).DialContext(e.ctx, "tcp", web.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("GET /ok HTTP/1.1\r\nHost: localh"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(testTimeout)))
	_, err = new(bytes.Buffer).ReadFrom(conn)
	require.NoError(t, err, "the server closes the connection by itself")
}
