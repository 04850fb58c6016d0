package api

import "github.com/labstack/echo/v4"

// dialect says in whose shapes a request is answered.
type dialect int

const (
	// platform is LangGraph Platform's, mounted at the root.
	platform dialect = iota
	// deerflow is DeerFlow's gateway, mounted at /api and /api/langgraph.
	deerflow
)

// mounts are the places where the same handlers stand.
func mounts() map[string]dialect {
	return map[string]dialect{"": platform, "/api": deerflow, "/api/langgraph": deerflow}
}

const dialectKey = "deerflow.dialect"

// withDialect marks the requests of a mount.
func withDialect(d dialect) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(dialectKey, d)
			return next(c)
		}
	}
}

func dialectOf(c echo.Context) dialect {
	d, _ := c.Get(dialectKey).(dialect)
	return d
}

// searchLimit is how many threads a search gives when the request names no
// limit.
func (d dialect) searchLimit() int {
	if d == deerflow {
		return 100
	}
	return 10
}
