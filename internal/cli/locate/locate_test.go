package locate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/cli"
)

// serve answers /health with a body.
func serve(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/info" {
			_, _ = fmt.Fprint(w, `{"temporal_ui":"/temporal"}`)
			return
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const (
	well   = `{"service":"deerflow","status":"healthy","version":"9","parts":{"database":"ok"}}`
	sick   = `{"service":"deerflow","status":"unhealthy","detail":"temporal: away"}`
	nobody = "http://127.0.0.1:1"
)

func TestFind(t *testing.T) {
	t.Parallel()
	healthy, ill, foreign := serve(t, 200, well), serve(t, 503, sick), serve(t, 200, `{"service":"other"}`)
	announced := func(url string) string {
		dir := t.TempDir()
		text := fmt.Sprintf(`{"url":%q,"temporal_ui":"http://ui"}`, url+"/")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "server.json"), []byte(text), 0o600))
		return dir
	}
	for name, c := range map[string]struct {
		o    Options
		want string
		code cli.ExitCode // 0: found
	}{
		"the one that is named":         {Options{Server: healthy + "/", DataDir: announced(ill), DefaultServer: ill}, healthy, 0},
		"named, and no other will do":   {Options{Server: nobody, DataDir: announced(healthy), DefaultServer: healthy}, "", cli.ExitUnreachable},
		"named, and another program":    {Options{Server: foreign}, "", cli.ExitUnreachable},
		"that of the data directory":    {Options{DataDir: announced(healthy), DefaultServer: ill}, healthy, 0},
		"that of the directory is sick": {Options{DataDir: announced(ill), DefaultServer: healthy}, "", cli.ExitUnreachable},
		"that of the directory is gone": {Options{DataDir: announced(nobody), DefaultServer: healthy}, healthy, 0},
		"the usual one":                 {Options{DataDir: t.TempDir(), DefaultServer: healthy}, healthy, 0},
		"another program on that port":  {Options{DataDir: t.TempDir(), DefaultServer: foreign}, "", cli.ExitUnreachable},
		"no usual one is wanted":        {Options{DataDir: t.TempDir()}, "", cli.ExitUnreachable},
		"named by no address":           {Options{Server: "foo", DefaultServer: healthy}, "", cli.ExitUsage},
		"none":                          {Options{DataDir: t.TempDir(), DefaultServer: nobody}, "", cli.ExitUnreachable},
	} {
		s, err := Require(t.Context(), c.o)
		if c.code != 0 {
			require.Equal(t, c.code, cli.CodeOf(err, -1), name)
			require.Nil(t, s, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, s.URL, name)
		require.Equal(t, name == "that of the data directory", s.Local, name)
	}
	_, err := Find(t.Context(), Options{DataDir: t.TempDir(), DefaultServer: nobody})
	require.ErrorIs(t, err, ErrNone)
}

func TestWorkflowLink(t *testing.T) {
	t.Parallel()
	url := serve(t, 200, well)
	s := Server{URL: url}
	require.Equal(t, url+"/temporal/namespaces/default/workflows/thread%2Ft", s.WorkflowLink(t.Context(), "t"), "asked for")
	s.TemporalUI = "http://ui/"
	require.Equal(t, "http://ui/namespaces/default/workflows/thread%2Ft", s.WorkflowLink(t.Context(), "t"))
	away := Server{URL: nobody}
	require.Empty(t, away.WorkflowLink(t.Context(), "t"))
}

func TestReadAnnouncement(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := ReadAnnouncement(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, bad := range []string{"{", "{}"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "server.json"), []byte(bad), 0o600))
		_, err := ReadAnnouncement(dir)
		require.ErrorContains(t, err, "server.json")
	}
}
