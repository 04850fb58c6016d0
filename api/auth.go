package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
)

// publicRoutes are those that need no key: what probes and browsers ask before
// anybody can have said who they are.
func publicRoutes() []string {
	prefixes := mounts()
	routes := make([]string, 0, 2*len(prefixes)+2)
	for prefix := range prefixes {
		routes = append(routes, prefix+"/health", prefix+"/ok")
	}
	return append(routes, authPath+"/setup-status", authPath+"/providers")
}

// authenticate finds out whose request it is. While no keys are asked for,
// everything is the default user's, who may do everything.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	public := publicRoutes()
	return func(c echo.Context) error {
		if !s.o.RequireKeys {
			c.Set(callerKey, caller{user: defaultUser, admin: true})
			return next(c)
		}
		if isPreflight(c.Request()) || slices.Contains(public, c.Path()) {
			return next(c)
		}
		key, err := s.callersKey(c)
		if err != nil {
			c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Bearer realm="deerflow"`)
			return err
		}
		c.Set(callerKey, caller{user: key.User, admin: key.Role == store.RoleAdmin, byKey: true})
		return s.whileValid(c, key.ID, next)
	}
}

// Codes of refusals, for programs (spec 1.1).
const (
	codeNoKey     = "not_authenticated"
	codeWrongKey  = "token_invalid"
	codeExpired   = "token_expired"
	codeTooManyOf = "too_many_attempts"
)

func unauthenticated(code, message string) *apiError {
	return &apiError{status: http.StatusUnauthorized, detail: map[string]string{"code": code, "message": message}}
}

// callersKey is the first valid key among those that came with a request. A
// request may well carry a key of some other service beside ours: SDKs send
// what they find in their environment.
func (s *Server) callersKey(c echo.Context) (store.Key, error) {
	sent := credentials(c.Request())
	if len(sent) == 0 {
		return store.Key{}, unauthenticated(codeNoKey, "Authentication required")
	}
	var last error
	for _, text := range sent {
		key, err := s.keys.find(c.Request().Context(), text)
		if err == nil {
			return key, nil
		}
		if last == nil || errors.Is(last, errWrongKey) {
			last = err
		}
	}
	switch {
	case errors.Is(last, errKeyExpired):
		return store.Key{}, unauthenticated(codeExpired, "The API key has expired")
	case errors.Is(last, errKeyRevoked):
		return store.Key{}, unauthenticated(codeWrongKey, "The API key was revoked")
	case !errors.Is(last, errWrongKey):
		return store.Key{}, &apiError{
			status: http.StatusServiceUnavailable, detail: "The API key cannot be checked: the database does not answer",
			retry: 1, cause: last,
		}
	}
	// Only guesses are counted. A right key is looked at first, so nobody can
	// lock its holder out by guessing from the same address.
	if wait := s.failures.add(c.RealIP()); wait > 0 {
		return store.Key{}, &apiError{
			status: http.StatusTooManyRequests, retry: int((wait + time.Second - 1) / time.Second),
			detail: map[string]string{"code": codeTooManyOf, "message": "Too many wrong API keys from this address: try again later"},
		}
	}
	return store.Key{}, unauthenticated(codeWrongKey, "The API key is not valid")
}

// credentials are the keys that a request carries.
func credentials(r *http.Request) []string {
	var list []string
	if key := strings.TrimSpace(r.Header.Get("X-Api-Key")); key != "" {
		list = append(list, key)
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get(echo.HeaderAuthorization)), " ")
	if token = strings.TrimSpace(token); token != "" && strings.EqualFold(scheme, "Bearer") {
		list = append(list, token)
	}
	return list
}

// whileValid runs a handler for as long as its caller's key is valid: streams
// are open for hours, and end when the key does.
func (s *Server) whileValid(c echo.Context, keyID string, next echo.HandlerFunc) error {
	ctx, cancel := context.WithCancelCause(c.Request().Context())
	defer cancel(nil)
	c.SetRequest(c.Request().WithContext(ctx))
	watch := time.AfterFunc(s.keys.life, func() {
		if err := s.keys.watch(ctx, keyID); err != nil {
			cancel(err)
		}
	})
	defer watch.Stop()
	err := next(c)
	if over := context.Cause(ctx); !errors.Is(over, errKeyRevoked) && !errors.Is(over, errKeyExpired) {
		return err
	}
	if c.Response().Committed {
		abort() // the client comes back, and hears why
	}
	return unauthenticated(codeWrongKey, "The API key is not valid any more")
}
