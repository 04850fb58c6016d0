package web

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const tidesPage = `<html><head><title>All about tides</title></head><body><article><h1>All about tides</h1>
<p>High water comes twice a day, and low water follows it, because the moon goes round the earth and pulls at the sea.</p>
<p>See <a href="/more">more</a> about spring tides, which come when the moon and the sun pull in one line.</p></article></body></html>`

const tidesText = "High water comes twice a day, and low water follows it, because the moon goes round the earth and pulls at the sea.\n\n" +
	"See [more](https://public.example/more) about spring tides, which come when the moon and the sun pull in one line."

func tides() Page {
	return Page{URL: "https://public.example/page", FinalURL: "https://public.example/page", Title: "All about tides", Text: tidesText}
}

func TestJina(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "jina", tool: "web_fetch",
		ok: tidesPage, okType: "text/plain; charset=utf-8", want: tides(),
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /", r.Method+" "+r.URL.String())
			require.Equal(t, "Bearer "+secretKey, r.Header.Get("Authorization"))
			require.Equal(t, "html", r.Header.Get("X-Return-Format"))
			require.Equal(t, "text/plain", r.Header.Get("Accept"))
			require.Equal(t, "5", r.Header.Get("X-Timeout"))
			require.JSONEq(t, `{"url": "https://public.example/page"}`, body)
		},
		empty: " \n ", wantEmpty: "empty response",
		malformed: []string{},
	})
}

// Row 10.16-8: a time that makes no sense is the usual one, not none at all.
func TestTimeouts10_16_8(t *testing.T) {
	t.Parallel()
	for _, value := range []any{false, true, nil, "soon", 0, -3, "", map[string]any{}} {
		w := wire{provider: "jina", tool: "web_fetch", values: map[string]any{}, timeout: "unused"}
		w.values["timeout"] = value
		_, seen, err := w.call(t, answering(said{status: 200, body: tidesPage}))
		require.NoError(t, err)
		require.Equal(t, "10", seen.all[0].request.Header.Get("X-Timeout"), "%v", value)

		for _, option := range []string{"timeout", "timeout_s"} {
			w = wire{provider: "browserless", tool: "web_fetch", values: map[string]any{option: value}, timeout: "unused"}
			_, seen, err = w.call(t, answering(said{status: 200, body: tidesPage}))
			require.NoError(t, err)
			require.Equal(t, "30000", seen.all[0].request.URL.Query().Get("timeout"), "%s %v", option, value)
		}

		o := Options{Values: map[string]any{"timeout": value}}
		require.Equal(t, DefaultTimeout, crawl4ai{o}.Seconds("timeout", DefaultTimeout))
	}
	for value, want := range map[any]string{2.5: "3", "20": "20", 9999: "180"} {
		w := wire{provider: "jina", tool: "web_fetch", values: map[string]any{"timeout": value}, timeout: "unused"}
		_, seen, err := w.call(t, answering(said{status: 200, body: tidesPage}))
		require.NoError(t, err)
		require.Equal(t, want, seen.all[0].request.Header.Get("X-Timeout"))
	}
}

// Without a key it is asked all the same, and the operator is told.
func TestJinaWithoutAKey(t *testing.T) {
	t.Parallel()
	o, seen := wire{provider: "jina", tool: "web_fetch", keyless: true}.options(t, answering(said{status: 200, body: tidesPage}))
	var said []string
	o.Warn = func(text string) { said = append(said, text) }
	_, err := newJina(o).Fetch(t.Context(), "https://public.example/page")
	require.NoError(t, err)
	require.Empty(t, seen.all[0].request.Header.Get("Authorization"))
	require.Len(t, said, 1)
	require.Contains(t, said[0], "JINA_API_KEY")
}

// The proxy of the entry is used for this provider alone.
func TestJinaProxy(t *testing.T) {
	t.Parallel()
	w := wire{provider: "jina", tool: "web_fetch"}
	o, through := w.options(t, answering(said{status: 200, body: tidesPage}))
	o.Values["proxy"], o.Values["base_url"] = o.Values["base_url"], "http://reader.example"
	_, err := newJina(o).Fetch(t.Context(), "https://public.example/page")
	require.NoError(t, err)
	require.Equal(t, "http://reader.example/", through.all[0].request.RequestURI)

	o.Values["proxy"] = "not an address"
	_, err = newJina(o).Fetch(t.Context(), "https://public.example/page")
	require.ErrorContains(t, err, "not configured")
}
