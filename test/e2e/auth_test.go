package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

const askForKeys = "auth: {enabled: true}"

// newKey makes a key with the command, beside the running server.
func newKey(t *testing.T, p *testkit.Process, user string) string {
	t.Helper()
	stdout, stderr, code := testkit.RunCLI(t, []string{"keys", "create", "--data-dir", p.DataDir, "--user", user}, testkit.CLIOptions{})
	require.Equal(t, 0, code, stderr)
	return strings.TrimSpace(stdout)
}

func keyEnv(key string) testkit.CLIOptions {
	return testkit.CLIOptions{Env: []string{"DEERFLOW_API_KEY=" + key}, Timeout: patience}
}

func TestTwoUsersDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	m.Respond(func(*testkit.Request) testkit.Reply { return testkit.Text("Read and done.") })
	p := testkit.StartDev(t, testkit.DevOptions{Config: testkit.ConfigFor(m, askForKeys)})
	ctx := patient(t)

	_, err := p.API().CreateThread(ctx, "", nil)
	require.Equal(t, 401, testkit.StatusOf(err), err)
	_, stderr, code := testkit.RunCLI(t, []string{"run", "--server", p.URL, "hello"}, testkit.CLIOptions{})
	require.Equal(t, 12, code, stderr)
	require.Contains(t, stderr, "DEERFLOW_API_KEY")
	_, stderr, code = testkit.RunCLI(t, []string{"run", "--server", p.URL, "--api-key", "df_no_such", "hello"}, testkit.CLIOptions{})
	require.Equal(t, 12, code, stderr)

	ann, bob := newKey(t, p, "ann"), newKey(t, p, "bob")
	note := filepath.Join(t.TempDir(), "note.txt")
	require.NoError(t, os.WriteFile(note, []byte("only for Ann"), 0o600))
	stdout, stderr, code := testkit.RunCLI(t, []string{"run", "--server", p.URL, "-o", "json", "Read this.", note}, keyEnv(ann))
	require.Equal(t, 0, code, stderr)
	var out struct {
		ThreadID string `json:"thread_id"`
		RunID    string `json:"run_id"`
		Answer   string `json:"answer"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &out), stdout)
	require.Equal(t, "Read and done.", out.Answer)

	hers, his := p.API().WithHeader("x-api-key", ann), p.API().WithHeader("Authorization", "Bearer "+bob)
	file := "/threads/" + out.ThreadID + "/artifacts/mnt/user-data/uploads/note.txt"
	var data []byte
	_, err = hers.Do(ctx, "GET", file, nil, &data)
	require.NoError(t, err)
	require.Equal(t, "only for Ann", string(data))
	require.FileExists(t, filepath.Join(p.DataDir, "users", "ann", "threads", out.ThreadID, "user-data", "uploads", "note.txt"))

	run := "/threads/" + out.ThreadID + "/runs/" + out.RunID
	for _, request := range []string{
		"GET /threads/" + out.ThreadID, "PATCH /threads/" + out.ThreadID, "DELETE /threads/" + out.ThreadID,
		"GET /threads/" + out.ThreadID + "/state", "POST /threads/" + out.ThreadID + "/history", "GET /threads/" + out.ThreadID + "/runs",
		"GET " + run, "GET " + run + "/join", "GET " + run + "/stream", "POST " + run + "/cancel", "POST /threads/" + out.ThreadID + "/runs",
		"POST /threads/" + out.ThreadID + "/runs/wait", "GET /threads/" + out.ThreadID + "/uploads/list", "GET " + file,
	} {
		method, path, _ := strings.Cut(request, " ")
		for _, prefix := range []string{"", "/api"} {
			_, err := his.WithPrefix(prefix).Do(ctx, method, path, testkit.SayWatched("mine now"), nil)
			require.Equal(t, 404, testkit.StatusOf(err), "%s: %v", request, err)
		}
	}
	var found []map[string]any
	_, err = his.Do(ctx, "POST", "/threads/search", map[string]any{}, &found)
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = hers.Do(ctx, "POST", "/threads/search", map[string]any{}, &found)
	require.NoError(t, err)
	require.Len(t, found, 1)
	_, stderr, code = testkit.RunCLI(t, []string{"run", "--server", p.URL, "--thread", out.ThreadID, "And now?"}, keyEnv(bob))
	require.Equal(t, 11, code, stderr)
	require.Len(t, messages(t, hers, out.ThreadID), 2)

	revoke(t, p, hers, ann)
	_, stderr, code = testkit.RunCLI(t, []string{"run", "--server", p.URL, "--thread", out.ThreadID, "And now?"}, keyEnv(ann))
	require.Equal(t, 12, code, stderr)
	_, err = his.Do(ctx, "POST", "/threads/search", map[string]any{}, &found)
	require.NoError(t, err, "Bob's key is another one")

	code, _ = p.Stop()
	require.Equal(t, 0, code, p.Output())
	for _, key := range []string{ann, bob} {
		secret := key[strings.LastIndex(key, "_")+1:]
		require.NotContains(t, p.Output(), secret)
		nowhere(t, p.DataDir, secret)
	}
}

// revoke takes a key back and waits until the server knows.
func revoke(t *testing.T, p *testkit.Process, api *testkit.API, key string) {
	t.Helper()
	id := strings.Split(key, "_")[1]
	stdout, stderr, code := testkit.RunCLI(t, []string{"keys", "list", "--data-dir", p.DataDir}, testkit.CLIOptions{})
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, id)
	require.NotContains(t, stdout, "never    never", "its use was noted")
	_, stderr, code = testkit.RunCLI(t, []string{"keys", "revoke", "--data-dir", p.DataDir, id}, testkit.CLIOptions{})
	require.Equal(t, 0, code, stderr)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for testkit.StatusOf(err(api.Do(ctx, "POST", "/threads/search", map[string]any{}, nil))) != 401 {
		require.NoError(t, ctx.Err(), "a revoked key stops working within five seconds")
		time.Sleep(50 * time.Millisecond)
	}
}

func err(_ any, e error) error { return e }

// nowhere fails when a file of a directory has a text in it: the databases,
// Temporal's with all payloads among them.
func nowhere(t *testing.T, dir, text string) {
	t.Helper()
	seen := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		seen++
		require.False(t, bytes.Contains(data, []byte(text)), "%s has a secret in it", path)
		return err
	}))
	require.Greater(t, seen, 2)
}

func TestBeyondLoopbackKeysAreAskedFor(t *testing.T) {
	t.Parallel()
	p := testkit.StartDev(t, testkit.DevOptions{Listen: "0.0.0.0:0"})
	ctx := patient(t)
	require.Contains(t, p.Output(), "make the first one with: deerflow keys create --admin --data-dir")
	_, err := p.API().CreateThread(ctx, "", nil)
	require.Equal(t, 401, testkit.StatusOf(err), err)
	_, err = p.API().WithHeader("x-api-key", newKey(t, p, "ann")).CreateThread(ctx, "", nil)
	require.NoError(t, err)
	p = p.Restart()
	require.NotContains(t, p.Output(), "keys create")
}

func TestAuthenticationCanBeDisabledOnLoopback(t *testing.T) {
	t.Parallel()
	config := askForKeys + "\nmodels:\n  - {name: demo, use: demo}\n"
	for where, status := range map[string]int{"development": 0, "production": 401} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			p := testkit.StartDev(t, testkit.DevOptions{Config: config, Env: []string{"DEER_FLOW_AUTH_DISABLED=1", "DEER_FLOW_ENV=" + where}})
			_, err := p.API().CreateThread(patient(t), "", nil)
			require.Equal(t, status, testkit.StatusOf(err), err)
		})
	}
}
