package api

import (
	"strings"

	"github.com/labstack/echo/v4"
)

// queryFlag reads a parameter that is true or false; one that stands without a
// value is true. unset is what it is when it is not there.
func queryFlag(c echo.Context, name string, unset bool) (bool, error) {
	values := c.QueryParams()[name]
	if len(values) == 0 {
		return unset, nil
	}
	switch strings.ToLower(values[0]) {
	case "", "1", "true", "t", "yes", "y", "on":
		return true, nil
	case "0", "false", "f", "no", "n", "off":
		return false, nil
	}
	return false, invalidField("bool_parsing", "Input should be a valid boolean, such as 0 or 1", "query", name)
}
