package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

const (
	// authPath is where DeerFlow's page asks who its user is.
	authPath = "/api/v1/auth"
	// mailDomain stands in addresses that nobody has: DeerFlow's tests know the
	// default user's by heart (spec 1.1).
	mailDomain = "test.local"
)

func (s *Server) authRoutes() {
	s.echo.GET(authPath+"/me", s.me)
	s.echo.GET(authPath+"/setup-status", func(c echo.Context) error {
		return c.JSON(http.StatusOK, map[string]bool{"needs_setup": false, "registration_enabled": false})
	})
	s.echo.GET(authPath+"/providers", func(c echo.Context) error {
		return c.JSON(http.StatusOK, map[string][]string{"providers": {}})
	})
}

// userShape is a user as DeerFlow's page expects one; its schema wants a valid
// e-mail address.
type userShape struct {
	ID            string  `json:"id"`
	Email         string  `json:"email"`
	SystemRole    string  `json:"system_role"`
	NeedsSetup    bool    `json:"needs_setup"`
	OAuthProvider *string `json:"oauth_provider"`
}

// me says who the caller is.
func (s *Server) me(c echo.Context) error {
	who := callerOf(c)
	user := userShape{ID: who.user, Email: who.user + "@" + mailDomain, SystemRole: "user"}
	if who.admin {
		user.SystemRole = "admin"
	}
	return c.JSON(http.StatusOK, user)
}
