package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
)

func TestQueryFlag(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"x": true, "x=": true, "x&y=0": true, "x=1": true, "x=true": true, "x=True": true, "x=on": true, "x=yes": true,
		"x=0": false, "x=false": false, "x=FALSE": false, "x=no": false, "x=off": false,
	} {
		c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/?"+query, nil), nil)
		for _, unset := range []bool{true, false} {
			got, err := queryFlag(c, "x", unset)
			require.NoError(t, err, query)
			require.Equal(t, want, got, query)
			got, err = queryFlag(c, "z", unset)
			require.NoError(t, err)
			require.Equal(t, unset, got)
		}
	}
	c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/?x=2", nil), nil)
	_, err := queryFlag(c, "x", true)
	var bad *apiError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
}

// All flags of the API are read in this way.
func TestFlagsOfTheAPI(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.answered(t, "x")
	e.output(t, "r.md", "# R")
	changes, artifact := "/threads/t/runs/"+run+"/workspace-changes", "/threads/t/artifacts/mnt/user-data/outputs/r.md"
	for _, path := range []string{changes + "?include_files&include_diff", changes + "?include_files=1&include_diff=1", changes + "?include_diff=yes"} {
		e.check(t, scenario{method: "GET", path: path, status: 200, want: []string{`"diff":"+x"`}})
	}
	e.check(t, scenario{method: "GET", path: changes + "?include_files=0&include_diff", status: 200, want: []string{`"files":[]`}})
	e.check(t, scenario{method: "GET", path: changes + "?include_files&include_diff=0", status: 200, want: []string{`"diff":""`}})
	e.check(t, scenario{method: "GET", path: changes, status: 200, want: []string{`"path":"/mnt/user-data/outputs/r.md"`, `"diff":""`}})
	attachment := map[string]string{"Content-Disposition": `attachment; filename="r.md"; filename*=UTF-8''r.md`}
	e.check(t, scenario{method: "GET", path: artifact + "?download", status: 200, headers: attachment})
	e.check(t, scenario{method: "GET", path: artifact + "?download=0", status: 200, headers: map[string]string{"Content-Disposition": `inline; filename="r.md"; filename*=UTF-8''r.md`}})
	for _, bad := range []string{
		changes + "?include_files=2", changes + "?include_diff=2", artifact + "?download=2", "/threads/t/runs/" + run + "/join?cancel_on_disconnect=2",
		"/threads/t/runs/" + run + "/stream?cancel_on_disconnect=2", "/runs/" + run + "/stream?cancel_on_disconnect=2",
	} {
		e.check(t, scenario{method: "GET", path: bad, status: 422, want: []string{`"bool_parsing"`, `["query",`}})
	}
	e.check(t, scenario{method: "POST", path: "/threads/t/runs/" + run + "/cancel?wait=2", status: 422, want: []string{`["query","wait"]`}})
}
