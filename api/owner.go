package api

import "github.com/labstack/echo/v4"

const (
	ownerKey = "deerflow.owner"
	// defaultUser owns everything while nobody has to prove who they are.
	defaultUser = "default"
)

// withOwner finds out whose request it is.
func withOwner(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set(ownerKey, defaultUser)
		return next(c)
	}
}

// ownerOf is the user on whose behalf a handler works. Every thread and file
// that it touches must be theirs; what belongs to others is answered like
// something that does not exist.
func ownerOf(c echo.Context) string {
	user, _ := c.Get(ownerKey).(string)
	return user
}
