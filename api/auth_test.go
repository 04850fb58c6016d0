package api

import (
	"bytes"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"deerflow/internal/store"
	"deerflow/internal/testkit"
)

// guarded is a server that asks for keys, with a clock that the test turns.
type guarded struct {
	*env
	turned atomic.Int64 // nanoseconds
	logged lockedBuffer
}

var clockStart = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func (g *guarded) now() time.Time       { return clockStart.Add(time.Duration(g.turned.Load())) }
func (g *guarded) turn(d time.Duration) { g.turned.Add(int64(d)) }

func newGuarded(t *testing.T, change ...func(*Options)) *guarded {
	t.Helper()
	g := &guarded{}
	g.env = newEnv(t, append([]func(*Options){func(o *Options) {
		o.RequireKeys, o.Now = true, g.now
		o.Logger = slog.New(slog.NewTextHandler(&g.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}}, change...)...)
	return g
}

// key makes a key of a user.
func (g *guarded) key(t *testing.T, user string, change ...func(*store.NewKey)) (id, text string) {
	t.Helper()
	n := store.NewKey{User: user, Role: store.RoleUser}
	for _, f := range change {
		f(&n)
	}
	key, text, err := g.store.CreateKey(g.ctx, n)
	require.NoError(t, err)
	return key.ID, text
}

func withKey(key string) map[string]string { return map[string]string{"X-Api-Key": key} }

const (
	wantNoKey   = `{"detail":{"code":"not_authenticated","message":"Authentication required"}}`
	wantInvalid = `"code":"token_invalid"`
)

func TestKeysOpenTheServer(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	_, ann := g.key(t, "ann")
	_, admin := g.key(t, "root", func(n *store.NewKey) { n.Role = store.RoleAdmin })
	_, short := g.key(t, "ann", func(n *store.NewKey) { n.ExpiresAt = clockStart.Add(time.Hour) })
	goneID, gone := g.key(t, "ann")
	_, err := g.store.RevokeKey(g.ctx, goneID)
	require.NoError(t, err)
	annsID, _, _ := strings.Cut(strings.TrimPrefix(ann, "df_"), "_")
	for _, s := range []scenario{
		{name: "none", status: 401, want: []string{wantNoKey}, headers: map[string]string{"WWW-Authenticate": `Bearer realm="deerflow"`}},
		{name: "right", header: withKey(ann), status: 200, want: []string{`"id":"ann"`, `"system_role":"user"`, `@`}},
		{name: "bearer", header: map[string]string{"Authorization": "Bearer " + ann}, status: 200},
		{name: "bearer, written differently", header: map[string]string{"Authorization": "bearer   " + ann + " "}, status: 200},
		{name: "admin", header: withKey(admin), status: 200, want: []string{`"system_role":"admin"`}},
		{name: "beside a key of another service", header: map[string]string{"X-Api-Key": "lsv2_pt_1", "Authorization": "Bearer " + ann}, status: 200, want: []string{`"id":"ann"`}},
		{name: "not yet expired", header: withKey(short), status: 200},
		{name: "revoked", header: withKey(gone), status: 401, want: []string{wantInvalid, "was revoked"}},
		{name: "basic", header: map[string]string{"Authorization": "Basic " + ann}, status: 401, want: []string{wantNoKey}},
		{name: "empty", header: withKey(" "), status: 401, want: []string{wantNoKey}},
		{name: "in the query", path: "?x-api-key=" + ann + "&api_key=" + ann, status: 401, want: []string{wantNoKey}},
		{name: "in a cookie", header: map[string]string{"Cookie": "access_token=" + ann}, status: 401, want: []string{wantNoKey}},
		{name: "cut off", header: withKey(ann[:len(ann)-1]), status: 401, want: []string{wantInvalid}},
		{name: "too long", header: withKey(ann + "a"), status: 401, want: []string{wantInvalid}},
		{name: "upper case", header: withKey(strings.ToUpper(ann)), status: 401, want: []string{wantInvalid}},
		{name: "right id, wrong secret", header: withKey("df_" + annsID + "_" + strings.Repeat("a", 52)), status: 401, want: []string{wantInvalid}},
		{name: "odd id", header: withKey("df_' OR 1=1 --_x"), status: 401, want: []string{wantInvalid}},
	} {
		s.method, s.path = "GET", authPath+"/me"+s.path
		t.Run(s.name, func(t *testing.T) {
			g.turn(failureTime) // guesses are not what this is about
			if strings.Contains(s.name, "not yet") {
				g.turned.Store(0)
			}
			g.check(t, s)
		})
	}
	g.turned.Store(int64(time.Hour))
	g.check(t, scenario{method: "GET", path: authPath + "/me", header: withKey(short), status: 401, want: []string{`"code":"token_expired"`}})

	for _, key := range []string{ann, admin, short, gone} {
		require.NotContains(t, g.logged.String(), key[len(key)-20:], "no key is logged")
	}
}

func TestPublicRoutesNeedNoKey(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	public := []string{
		"/health", "/ok", "/api/health", "/api/ok", "/api/langgraph/health", "/api/langgraph/ok", authPath + "/setup-status", authPath + "/providers",
	}
	require.ElementsMatch(t, public, publicRoutes())
	for _, path := range public {
		g.check(t, scenario{method: "GET", path: path, status: 200})
	}
	for _, path := range []string{"/info", "/nope", "/docs", "/openapi.json", "/threads/t", "/health/", "//health", "/health/../info", "/ok%2f..%2finfo"} {
		g.check(t, scenario{method: "GET", path: path, status: 401, want: []string{wantNoKey}})
	}
}

func TestWithoutAuthenticationAllIsTheDefaultUsers(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	status, _, body := e.do(t, "GET", authPath+"/me", "", withKey("df_a_b"))
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"id":"default","email":"default@test.local","system_role":"admin","needs_setup":false,"oauth_provider":null}`, body)
	e.check(t, scenario{method: "GET", path: authPath + "/setup-status", status: 200, want: []string{`"needs_setup":false`}})
	e.check(t, scenario{method: "GET", path: authPath + "/providers", status: 200, want: []string{`{"providers":[]}`}})
	e.check(t, scenario{
		method: "POST", path: "/threads/search", header: map[string]string{"X-Api-Key": "df_a_b", "Origin": "https://evil.example"}, status: 403,
	})
}

func TestGuessesAreSlowedDownAndKeysAreNot(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	goneID, gone := g.key(t, "ann")
	_, err := g.store.RevokeKey(g.ctx, goneID)
	require.NoError(t, err)
	_, ann := g.key(t, "ann")
	guess := func(status int, wait string) {
		t.Helper()
		s := scenario{method: "GET", path: "/info", header: withKey("df_a_b"), status: status, headers: map[string]string{"Retry-After": wait}}
		s.header["X-Forwarded-For"] = "10.0.0." + strconv.FormatInt(g.turned.Load()%200, 10)
		g.check(t, s)
	}
	right := func() {
		t.Helper()
		g.check(t, scenario{method: "GET", path: "/info", header: withKey(ann), status: 200})
	}
	for range failuresAllowed * 2 { // no guesses: no key, and one that was right once
		g.check(t, scenario{method: "GET", path: "/info", status: 401})
		g.check(t, scenario{method: "GET", path: "/info", header: withKey(gone), status: 401})
	}
	for range failuresAllowed {
		guess(401, "")
		g.turn(time.Second)
	}
	right()
	guess(429, "299")
	g.check(t, scenario{method: "GET", path: "/info", header: withKey("x"), status: 429, want: []string{`"code":"too_many_attempts"`}})
	g.check(t, scenario{method: "GET", path: "/info", status: 401})
	right()
	g.turn(failureTime - 2*time.Second)
	guess(429, "1")
	g.turn(time.Second)
	guess(401, "")
	right()
}

func TestNeighbourhoods(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"10.1.2.3": "10.1.2.3", "::ffff:10.1.2.3": "10.1.2.3", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"fe80::1%eth0": "fe80::/64", "": "unknown", "pipe": "unknown",
	} {
		require.Equal(t, want, neighbourhood(address))
	}
}

func TestRevocationTakesEffectWithinSeconds(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	id, ann := g.key(t, "ann")
	ask := func(status int) {
		t.Helper()
		g.check(t, scenario{method: "GET", path: "/info", header: withKey(ann), status: status})
	}
	ask(200)
	_, err := g.store.RevokeKey(g.ctx, id)
	require.NoError(t, err)
	ask(200) // it is believed for a moment, so that not every request asks the database
	require.LessOrEqual(t, 2*keyLife, 5*time.Second)
	g.turn(keyLife)
	ask(401)
}

func TestUseOfAKeyIsNoted(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	id, ann := g.key(t, "ann")
	used := func() time.Time {
		g.check(t, scenario{method: "GET", path: "/info", header: withKey(ann), status: 200})
		key, err := g.store.GetKey(g.ctx, id)
		require.NoError(t, err)
		return key.LastUsedAt
	}
	require.Equal(t, clockStart, used())
	g.turn(59 * time.Second)
	require.Equal(t, clockStart, used())
	g.turn(time.Second)
	require.Equal(t, clockStart.Add(time.Minute), used())
	g.check(t, scenario{method: "GET", path: "/info", header: withKey(ann[:30]), status: 401})
	g.turn(time.Hour)
	key, err := g.store.GetKey(g.ctx, id)
	require.NoError(t, err)
	require.Equal(t, clockStart.Add(time.Minute), key.LastUsedAt, "a guess is no use")
}

func TestStreamsEndWithTheirKey(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.server.keys.life = 5 * time.Millisecond
	id, ann := g.key(t, "ann")
	api := g.root.WithHeader("x-api-key", ann)
	request := testkit.Say("hello")
	request.IfNotExists = "create"
	stream, err := api.StreamRun(g.ctx, "t1", request)
	require.NoError(t, err)
	defer stream.Close()
	waiting := make(chan *http.Response, 1)
	runs, err := g.store.ListRuns(g.ctx, "t1", store.RunQuery{})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	go func() {
		res, _, err := g.fetch("GET", "/threads/t1/runs/"+runs[0].ID+"/join", "", http.Header{"X-Api-Key": {ann}})
		if err != nil {
			res = nil
		}
		waiting <- res
	}()
	_, err = g.store.RevokeKey(g.ctx, id)
	require.NoError(t, err)
	g.turn(time.Hour)
	_, err = stream.Until(g.ctx, testkit.IsEvent("end"))
	require.Error(t, err, "the stream is broken off, it did not end")
	require.NoError(t, g.ctx.Err())
	if res := <-waiting; res != nil {
		require.Equal(t, 401, res.StatusCode)
	}
	run, err := g.store.GetRun(g.ctx, "t1", runs[0].ID)
	require.NoError(t, err)
	require.False(t, run.Status.Terminal(), "the run goes on")
}

func TestKeysCannotBeCheckedWithoutADatabase(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	_, ann := g.key(t, "ann")
	require.NoError(t, g.closeStore())
	g.check(t, scenario{method: "GET", path: "/info", header: withKey(ann), status: 503, headers: map[string]string{"Retry-After": "1"}})
	require.NotContains(t, g.logged.String(), ann)
}

func TestWebPagesAndKeys(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, func(o *Options) { o.AllowedOrigins = []string{"https://app.example.com"} })
	_, ann := g.key(t, "ann")
	for _, s := range []struct {
		name, method string
		header       map[string]string
		status       int
		cors         bool
	}{
		{"a foreign page", "POST", map[string]string{"Origin": "https://evil.example"}, 401, false},
		{"a foreign page that knows a key", "POST", map[string]string{"Origin": "https://evil.example", "X-Api-Key": ann}, 200, false},
		{"a listed page without a key can read why", "POST", map[string]string{"Origin": "https://app.example.com"}, 401, true},
		{"a listed page", "POST", map[string]string{"Origin": "https://app.example.com", "Authorization": "Bearer " + ann}, 200, true},
		{"a preflight of a listed page", "OPTIONS", map[string]string{"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}, 204, true},
		{"a rebound name", "POST", map[string]string{"Host": "evil.example", "X-Api-Key": ann}, 403, false},
		{"an address", "POST", map[string]string{"Host": "192.168.1.5:2026", "X-Api-Key": ann}, 200, false},
		{"an address, IPv6", "POST", map[string]string{"Host": "[2001:db8::1]:2026", "X-Api-Key": ann}, 200, false},
	} {
		t.Run(s.name, func(t *testing.T) {
			status, header, body := g.do(t, s.method, "/threads/search", "", s.header)
			require.Equal(t, s.status, status, body)
			require.Equal(t, s.cors, header.Get("Access-Control-Allow-Origin") != "")
		})
	}
	_, header, body := g.do(t, "OPTIONS", "/threads/search", "", map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"})
	require.Empty(t, header.Get("Access-Control-Allow-Origin"))
	require.NotContains(t, body, "thread")
}

func TestHeadersOfARequestAreNotLogged(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	_, ann := g.key(t, "ann")
	g.server.echo.GET("/panic/:thread", func(echo.Context) error { panic("now") })
	g.check(t, scenario{method: "GET", path: "/panic/t", header: withKey(ann), status: 500})
	require.Contains(t, g.logged.String(), "now")
	require.False(t, bytes.Contains([]byte(g.logged.String()), []byte(ann)))
}
