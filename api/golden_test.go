package api

import (
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/store"
)

var (
	// debugTimes are the times of events, which the store takes from its clock.
	debugTimes = regexp.MustCompile(`"timestamp":"[^"]*"`)
	// taskIDs are made of run ids, which are new each time.
	taskIDs = regexp.MustCompile(`"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"`)
)

func viewNow() store.ViewOptions { return store.ViewOptions{} }

var updateGolden = flag.Bool("update", false, "write the golden files anew")

// rawStream reads a whole stream as text.
func (e *env) rawStream(t *testing.T, path, lastEventID string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(e.ctx, http.MethodGet, e.http.URL+path, nil)
	require.NoError(t, err)
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	res, err := e.http.Client().Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, string(data))
	return string(data)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *updateGolden {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	wanted, lines := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(wanted), len(lines)) {
		require.Equal(t, wanted[i], lines[i], "line %d of %s", i+1, file)
	}
	require.Len(t, lines, len(wanted), file)
}

// TestGoldenRun pins every byte of a run's stream, in both dialects.
func TestGoldenRun(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	run := e.say(t, "golden", "List my files")
	e.play(t, "golden").story(run)
	view, err := e.store.View(e.ctx, "golden", viewNow())
	require.NoError(t, err)
	anonymous := strings.NewReplacer(run, "RUN", view.Rows[0].ID, "HUMAN")
	for mount, name := range map[string]string{"": "run_platform.sse", "/api": "run_deerflow.sse"} {
		got := e.rawStream(t, mount+"/threads/golden/runs/"+run+"/stream", "")
		golden(t, name, anonymous.Replace(got))
	}
	all := e.rawStream(t, `/threads/golden/runs/`+run+`/stream?stream_mode=["messages","tasks","checkpoints","debug"]`, "")
	all = debugTimes.ReplaceAllString(anonymous.Replace(all), `"timestamp":"TIME"`)
	golden(t, "run_rare_modes.sse", taskIDs.ReplaceAllString(all, `"TASK"`))
}
