package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBraveSearch(t *testing.T) {
	t.Parallel()
	conform(t, wire{
		provider: "brave", tool: "web_search",
		ok: `{"type": "search", "web": {"results": [
			{"title": "Tides", "url": "https://a.example/", "description": "high and low", "page_age": "2026-01-02T00:00:00"}, "text", {"title": null, "url": "https://b.example/"}
		]}}`,
		want: []Hit{
			{Title: "Tides", URL: "https://a.example/", Snippet: "high and low", Published: "2026-01-02T00:00:00"},
			{URL: "https://b.example/"},
		},
		empty: `{"type": "search", "web": null}`,
		check: func(t *testing.T, r *http.Request, _ string) {
			t.Helper()
			require.Equal(t, "GET /res/v1/web/search?count=5&q=tides+at+sea&text_decorations=false", r.Method+" "+r.URL.String())
			require.Equal(t, secretKey, r.Header.Get("X-Subscription-Token"))
			require.Equal(t, "application/json", r.Header.Get("Accept"))
		},
	})
}

// 10.16-1
func TestBraveBounds(t *testing.T) {
	t.Parallel()
	for value, want := range map[any]string{"50": "20", "abc": "5", 0: "5", 7: "7", false: "5", 3.0: "3"} {
		w := wire{provider: "brave", tool: "web_search", values: map[string]any{"max_results": value}}
		_, seen, err := w.call(t, answering(said{status: 200, body: `{"web": {"results": []}}`}))
		require.NoError(t, err)
		require.Equal(t, want, seen.all[0].request.URL.Query().Get("count"), "%v", value)
	}
	require.Len(t, braveQuery(strings.Repeat("a", 500)), 400)
	require.Len(t, strings.Fields(braveQuery(strings.Repeat("a ", 60))), 50)

	var warnings []string
	o := Options{Values: map[string]any{"max_results": "abc"}, Warn: func(text string) { warnings = append(warnings, text) }}
	require.Equal(t, 5, o.Count(Query{}, 5, 20))
	require.Len(t, warnings, 1)
}

// 10.16-1, 7.1-9
func TestBraveKey(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		option any
		env    map[string]string
		want   string
	}{
		"option":                   {" k1 ", map[string]string{braveEnv: "k2"}, "k1"},
		"space is no key":          {"  ", map[string]string{braveEnv: " k2\n"}, "k2"},
		"variable":                 {nil, map[string]string{braveEnv: "k2"}, "k2"},
		"the old variable":         {nil, map[string]string{"BRAVE_API_KEY": "k2"}, ""},
		"a variable full of space": {nil, map[string]string{braveEnv: "  "}, ""},
		"no text":                  {true, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t, "brave", "web_search", map[string]any{"api_key": tt.option})
			o.Getenv = func(name string) string { return tt.env[name] }
			require.Equal(t, tt.want, o.Key(braveEnv))
			if tt.want == "" {
				_, err := newBraveSearch(o).Search(t.Context(), Query{Text: "q"})
				require.EqualError(t, err, "BRAVE_SEARCH_API_KEY is not configured")
			}
		})
	}
	o := Options{Values: map[string]any{}, Siblings: []map[string]any{{}, {"api_key": "k3"}}}
	require.Equal(t, "k3", o.Key(braveEnv), "the key of another entry of the provider")
}
