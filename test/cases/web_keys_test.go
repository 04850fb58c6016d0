package cases

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A service that repeats what it was sent does not give its key to the model; nor is
// the key stored or logged.
func TestKeysOfWebProvidersAreNotRepeated(t *testing.T) {
	const key, token = "tvly-SECRET12345", "jina_SECRET67890"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.Header.Get("Authorization")
		if r.URL.Path == "/search" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"results":[{"title":"Hit for %s","url":"http://x.example/?k=%s","content":"You sent %s"}]}`, asked, key, asked)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<title>T</title><p>You sent %s with your request, which was read.</p>", asked)
	}))
	t.Cleanup(site.Close)
	m := NewModel(t)
	m.Enqueue(ToolCalls(search("s", "tides"), fetch("f", "http://127.0.0.1:9/page")), Text("done"))
	p := StartDev(t, DevOptions{Env: []string{"JINA_API_KEY=" + token}, Config: ConfigFor(m, fmt.Sprintf(`tools:
  - {name: web_search, group: web, use: "tavily:web_search", base_url: %q, api_key: %q}
  - {name: web_fetch, group: web, use: "jina:web_fetch", base_url: %q, allow_private_addresses: true}
`, site.URL, key, site.URL))})
	api := p.API()
	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, "What about tides?").Status)

	got := results(m.Requests()[1])
	require.Contains(t, got["s"], "You sent Bearer [redacted]")
	require.Contains(t, got["s"], "http://x.example/?k=[redacted]")
	require.Contains(t, got["f"], `You sent Bearer \[redacted]`)
	code, sources, _ := get(t, p, "/threads/"+id+"/sources", nil)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, sources, "x.example")

	exit, _ := p.Stop()
	require.Zero(t, exit)
	for _, secret := range []string{key, token} {
		require.NotContains(t, sources, secret)
		require.NotContains(t, p.Output(), secret)
		require.NoError(t, filepath.WalkDir(p.DataDir, func(file string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(file)
			require.NotContains(t, string(data), secret, strings.TrimPrefix(file, p.DataDir))
			return err
		}))
	}
}
