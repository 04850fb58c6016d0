package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/evidence"
	"deerflow/internal/export"
)

func TestExportOfAnAnswer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	answer := "# Deer\n\nThey run[citation:A](https://a.org/y). See [B](https://b.org), [given](https://g.org) and [N](https://n.org)<script>alert(1)</script>.\n"
	e.answered(t, answer, evidence.Check{
		Place: evidence.PlaceAnswer, Citations: 4, Keys: []string{"a.org/y", "b.org", "g.org", "n.org"},
		Flags: []evidence.Flag{{URL: "https://b.org", Grade: evidence.Found}, {URL: "https://n.org", Grade: evidence.Unknown}},
	})
	headers := map[string]string{
		"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff", "Content-Type": "text/markdown; charset=utf-8",
		"Content-Disposition": `attachment; filename="Deer a report.md"; filename*=UTF-8''Deer%20a%20report.md`,
	}
	e.check(t, scenario{method: "GET", path: "/api/threads/t/export", status: 200, headers: headers, want: []string{
		answer, "## Evidence", "- [A](<https://a.org/y>): read on 2026-01-25", "- [B](<https://b.org>): found by a search on 2026-01-25, not read",
		"- [given](<https://g.org>): named by the user", "- [N](<https://n.org>): not verified",
	}})
	headers["Content-Type"], headers["Content-Disposition"] = "text/html; charset=utf-8", `attachment; filename="Deer a report.html"; filename*=UTF-8''Deer%20a%20report.html`
	e.check(t, scenario{method: "GET", path: "/threads/t/export?format=html", status: 200, headers: headers, want: []string{"<h1", "They run", "read on"}, wantNot: []string{"<script"}})
	status, header, body := e.do(t, "GET", "/threads/t/export?format=pdf", "", nil)
	require.Equal(t, 200, status)
	require.Equal(t, "application/pdf", header.Get("Content-Type"))
	require.Equal(t, "0", header.Get(missingGlyphsHeader))
	require.True(t, strings.HasPrefix(body, "%PDF-"))

	e.check(t, scenario{method: "GET", path: "/threads/t/export?format=docx", status: 422})
	e.check(t, scenario{method: "GET", path: "/threads/none/export", status: 404})
	e.thread(t, "empty")
	e.check(t, scenario{method: "GET", path: "/threads/empty/export", status: 404, want: []string{"no answer to export yet"}})
}

func TestExportOfAFile(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.answered(t, "x")
	e.output(t, "sub/r.md", "# R\n\nsays [A](https://a.org/x)\n")
	e.output(t, "large.md", strings.Repeat("x", maxHashed+1))
	e.output(t, "long.md", strings.Repeat("x", export.MaxMarkdown+1))
	e.output(t, "data.csv", "a,b")
	path := "/threads/t/export?path=/mnt/user-data/outputs/"
	e.check(t, scenario{method: "GET", path: path + "sub/r.md", status: 200, want: []string{"# R", "[A](<https://a.org/x>): read on 2026-01-25"}, headers: map[string]string{
		"Content-Disposition": `attachment; filename="r.md"; filename*=UTF-8''r.md`,
	}})
	e.check(t, scenario{method: "GET", path: path + "none.md", status: 404})
	e.check(t, scenario{method: "GET", path: path + "data.csv", status: 400})
	e.check(t, scenario{method: "GET", path: path + "large.md", status: 413})
	e.check(t, scenario{method: "GET", path: path + "long.md", status: 200})
	e.check(t, scenario{method: "GET", path: path + "long.md&format=html", status: 413, want: []string{"export it as md"}})
	for _, out := range []string{"/etc/passwd.md", "/mnt/user-data/outputs/../../x.md", "/mnt/user-data/secret/x.md"} {
		e.check(t, scenario{method: "GET", path: "/threads/t/export?path=" + out, status: 403})
	}
}

// What is exported at once is bounded: the work is done in the request.
func TestExportsTakeTurns(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.answered(t, "x")
	for range maxExports {
		e.server.exports <- struct{}{}
	}
	done := make(chan int, 1)
	go func() {
		res, _, err := e.fetch("GET", "/threads/t/export", "", nil)
		if err != nil {
			done <- 0
			return
		}
		done <- res.StatusCode
	}()
	<-e.server.exports
	require.Equal(t, 200, <-done)
}
