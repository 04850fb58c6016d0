package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// A service that repeats the key it was sent does not give it to the model.
func TestKeysAreTakenOutOfAnswers(t *testing.T) {
	t.Parallel()
	const key = `tvly+SECRET/"KEY"=1&<2`
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		quoted, err := json.Marshal("Bearer " + key)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Asked", "/?k="+url.QueryEscape(key))
		_, _ = fmt.Fprintf(w, `{"a":%s,"b":"tvly+SECRET\/\"KEY\"=1&<2","u":"http://x/?k=%s","word":"short"}`, quoted, url.QueryEscape(key))
	}))
	defer service.Close()
	client := NewClient(ClientOptions{})
	request := Request{Service: "S", URL: service.URL, Secrets: []string{key, "short", ""}}
	response, err := client.Do(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "/?k=[redacted]", response.Header.Get("X-Asked"))
	var answer map[string]string
	require.NoError(t, client.Decode(t.Context(), request, &answer))
	require.Equal(t, map[string]string{"a": "Bearer [redacted]", "b": "[redacted]", "u": "http://x/?k=[redacted]", "word": "short"}, answer)
}
