package api

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// checkHost refuses names that are not ours: a web page whose name was pointed
// at this address after it was loaded (DNS rebinding) gives itself away by its
// Host header. Probes may come under any name.
func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		host := c.Request().Host
		if !s.hostAllowed(host) && !isProbe(c.Request()) {
			return fail(http.StatusForbidden,
				"Host %q is not allowed: use a loopback name, or list it under server.allowed_hosts", host)
		}
		return next(c)
	}
}

func isProbe(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.URL.Path == "/health" || r.URL.Path == "/ok")
}

func (s *Server) hostAllowed(hostport string) bool {
	name := hostName(hostport)
	if isLoopback(name) {
		return true
	}
	// With keys the server may stand at any address. An address cannot be
	// pointed elsewhere, only a name can.
	if s.o.RequireKeys && net.ParseIP(name) != nil {
		return true
	}
	return slices.ContainsFunc(s.o.AllowedHosts, func(allowed string) bool {
		return strings.EqualFold(allowed, hostport) || strings.EqualFold(allowed, name)
	})
}

// hostName is a Host header without its port and brackets.
func hostName(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopback(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// allowOrigins lets the web pages that are listed read the answers, refusals
// too, and answers what their browsers ask before: those send no key with it.
func (s *Server) allowOrigins(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if len(s.o.AllowedOrigins) > 0 {
			c.Response().Header().Add(echo.HeaderVary, echo.HeaderOrigin)
		}
		origin := c.Request().Header.Get(echo.HeaderOrigin)
		if !s.originAllowed(origin) {
			return next(c)
		}
		corsHeaders(c, origin)
		if isPreflight(c.Request()) {
			return c.NoContent(http.StatusNoContent)
		}
		return next(c)
	}
}

func (s *Server) originAllowed(origin string) bool {
	return origin != "" && slices.ContainsFunc(s.o.AllowedOrigins, func(o string) bool {
		return strings.EqualFold(strings.TrimSuffix(o, "/"), origin)
	})
}

// checkOrigin keeps other web pages from driving the API in the name of whoever
// looks at them. Who sends a key in a header is no such page: it would need to
// know the key, and browsers add none by themselves.
func (s *Server) checkOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		origin := c.Request().Header.Get(echo.HeaderOrigin)
		if changesState(c.Request().Method) && !callerOf(c).byKey && !s.originAllowed(origin) && isForeign(c.Request(), origin) {
			return fail(http.StatusForbidden,
				"Cross-site request denied: origin %q is not listed under server.allowed_origins", origin)
		}
		return next(c)
	}
}

func changesState(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// isForeign tells a request that a page of another origin made. Programs send
// neither header. Browsers send Sec-Fetch-Site, which holds also behind a proxy
// that rewrites Host; old ones only Origin.
func isForeign(r *http.Request, origin string) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
	default:
		return true
	}
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// exposedHeaders are those that the SDKs read; without Content-Location no run
// is known to a page of another origin.
const exposedHeaders = "Content-Location, Location, X-Pagination-Next, X-Pagination-Total, ETag, Content-Range, " +
	"Content-Disposition, Retry-After, X-Request-Id"

func corsHeaders(c echo.Context, origin string) {
	h := c.Response().Header()
	h.Set(echo.HeaderAccessControlAllowOrigin, origin)
	h.Set(echo.HeaderAccessControlAllowCredentials, "true")
	h.Set(echo.HeaderAccessControlExposeHeaders, exposedHeaders)
	if !isPreflight(c.Request()) {
		return
	}
	h.Set(echo.HeaderAccessControlAllowMethods, "GET, HEAD, POST, PUT, PATCH, DELETE")
	if asked := c.Request().Header.Get(echo.HeaderAccessControlRequestHeaders); asked != "" {
		h.Set(echo.HeaderAccessControlAllowHeaders, asked)
	}
	h.Set(echo.HeaderAccessControlMaxAge, "600")
}
