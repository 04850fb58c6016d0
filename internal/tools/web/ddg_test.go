package web

import (
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const ddgNothing = `<html><body><form id="search_form" action="/html/"><input name="q"></form><div class="no-results">No results.</div></body></html>`

func TestDDGSearch(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("testdata/ddg.html")
	require.NoError(t, err)
	w := wire{
		provider: "ddg", tool: "web_search", keyless: true,
		ok: string(page), okType: "text/html; charset=UTF-8",
		want: []Hit{
			{Title: "Tides & currents", URL: "https://a.example/tides?x=1&y=2", Snippet: "High water comes twice a day."},
			{Title: "Second", URL: "https://b.example/", Snippet: "Of another form."},
		},
		empty: ddgNothing,
		check: func(t *testing.T, r *http.Request, body string) {
			t.Helper()
			require.Equal(t, "POST /html/", r.Method+" "+r.URL.String())
			form, err := url.ParseQuery(body)
			require.NoError(t, err)
			require.Equal(t, url.Values{"q": {"tides at sea"}, "b": {""}, "l": {"wt-wt"}, "kl": {"wt-wt"}, "kp": {"-1"}}, form)
		},
		malformed: []string{"", `{"results": []}`, "<html><h1>Welcome</h1></html>", "\x00\x01"},
	}
	conform(t, w)

	var refusal *Error
	for _, answer := range []said{
		{status: 202, body: ddgNothing},
		{status: 200, body: `<form><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></form>`},
	} {
		_, _, err = w.call(t, answering(answer))
		require.ErrorAs(t, err, &refusal)
		require.Contains(t, refusal.Message, "rate limited")
	}
}

// 10.16-7
func TestDDGRegion(t *testing.T) {
	t.Parallel()
	tests := []struct{ region, query, want string }{
		{"wt-wt", "東京の天気", "jp-ja"},
		{"", "タワー", "jp-ja"},
		{"", "서울 날씨", "kr-ko"},
		{"", "北京天气", "cn-zh"},
		{"", "погода", "ru-ru"},
		{"", "καιρός", "gr-el"},
		{"", "מזג אוויר", "il-he"},
		{"", "طقس", "xa-ar"},
		{"", "weather", "wt-wt"},
		{"en", "東京の天気", "us-en"},
		{"kr-kr", "x", "kr-ko"},
		{"jp-jp", "x", "jp-ja"},
		{"tw-tzh", "x", "tw-zh"},
		{"us-wt", "x", "us-en"},
		{"DE-de", "x", "de-de"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, ddgRegion(tt.region, tt.query), "%s %s", tt.region, tt.query)
	}
}

func TestDDGSafe(t *testing.T) {
	t.Parallel()
	for option, want := range map[any]string{nil: "-1", "moderate": "-1", " ON ": "1", true: "1", "strict": "1", "off": "-2", false: "-2", 7: "-1"} {
		require.Equal(t, want, ddgSafe(option), "%v", option)
	}
}
