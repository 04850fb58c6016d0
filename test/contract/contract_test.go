package contract

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// TestSDK runs every check with both SDKs at both places.
func TestSDK(t *testing.T) {
	t.Parallel()
	dir := packages(t)
	p := testkit.StartDev(t, testkit.DevOptions{Config: fmt.Sprintf(`models:
  - {name: kit, use: openai, model: kit-model, api_key: kit-key, base_url: %s}
llm_call: {retry_base_delay_ms: 50, retry_cap_delay_ms: 200}
`, model(t).URL())})
	for _, sdk := range []string{"sdk-1.15.0", "sdk-1.6.0"} {
		for mount, name := range map[string]string{"/": "root", "/api": "api"} {
			t.Run(sdk+"/"+name, func(t *testing.T) {
				t.Parallel()
				run(t, dir, sdk, p.URL, mount)
			})
		}
	}
}

// model is the model of all checks: the marker in a message says what it does.
func model(t *testing.T) *testkit.Model {
	t.Helper()
	m := testkit.NewModel(t)
	question := func(id string) testkit.Call {
		return testkit.Call{ID: id, Name: "ask_clarification", Args: map[string]any{
			"question": "Which one?", "clarification_type": "missing_info", "options": []string{"the first", "the second"},
		}}
	}
	once := func(calls ...testkit.Call) func(*testkit.Request) testkit.Reply {
		return func(r *testkit.Request) testkit.Reply {
			if _, asked := r.ToolResult(calls[0].ID); asked {
				return testkit.Text("Thank you. That is all I need.", testkit.WithChunks(3))
			}
			return testkit.ToolCalls(calls...)
		}
	}
	m.On(testkit.AnyMessage("[ask two]")).Respond(once(question("q1"), question("q2")))
	m.On(testkit.AnyMessage("[ask]")).Respond(once(question("q")))
	m.On(testkit.LastUser("[tools]")).Respond(testkit.ByTurn(
		testkit.ToolCalls(
			testkit.Call{ID: "look", Name: "ls", Args: map[string]any{"description": "look", "path": "/mnt/user-data"}},
			testkit.Call{ID: "find", Name: "glob", Args: map[string]any{"description": "find", "pattern": "*.md", "path": "/mnt/user-data"}},
		).With(testkit.WithChunks(3)),
		testkit.Text("There is nothing yet.", testkit.WithChunks(4)),
	))
	m.On(testkit.LastUser("[slow]")).Always(testkit.Text(strings.Repeat("word by word ", 10), testkit.WithChunks(30), testkit.WithDelay(60*time.Millisecond)))
	m.On(testkit.LastUser("[hang]")).Always(testkit.Text("this much was said before", testkit.WithChunks(6), testkit.At(4, testkit.Hang())))
	m.On(testkit.LastUser("[fail]")).Always(testkit.APIError(400, "invalid_request", "The request cannot be served."))
	m.Respond(func(r *testkit.Request) testkit.Reply {
		return testkit.Text("You said: "+r.LastUser(), testkit.WithChunks(4))
	})
	return m
}

// run is one pass over all checks; each line of its output is a subtest.
func run(t *testing.T, dir, sdk, url, mount string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	script, err := filepath.Abs("contract.mjs")
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, "node", script, dir, sdk, url, mount)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", out, &stderr)
	lines := bufio.NewScanner(bytes.NewReader(out))
	checks := 0
	for lines.Scan() {
		verdict := regexp.MustCompile(`^(ok|not ok|skip) (\d+) - (.*)$`).FindStringSubmatch(lines.Text())
		require.NotNil(t, verdict, "the script printed %q", lines.Text())
		checks++
		t.Run(verdict[2], func(t *testing.T) {
			switch verdict[1] {
			case "skip":
				t.Skip(verdict[3])
			case "not ok":
				t.Error(verdict[3])
			}
		})
	}
	require.NoError(t, lines.Err())
	require.Greater(t, checks, 60, "checks are missing")
}

// packages gives a directory with the SDKs of package-lock.json, installed once
// for each state of that file.
func packages(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: the SDKs cannot be run", program)
		}
	}
	dir, err := install(t.Context())
	if errors.Is(err, errUnreachable) {
		t.Skipf("the npm registry cannot be reached: %v", err)
	}
	require.NoError(t, err)
	return dir
}

var errUnreachable = errors.New("no connection")

// install downloads into a directory beside the final one, which appears when
// all is there.
func install(ctx context.Context) (string, error) {
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return "", fmt.Errorf("read the versions of the SDKs: %w", err)
	}
	manifest, err := os.ReadFile("package.json")
	if err != nil {
		return "", fmt.Errorf("read the names of the SDKs: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the SDKs: %w", err)
	}
	sum := sha256.Sum256(append(lock, manifest...))
	dir := filepath.Join(cache, "deerflow-testkit", "contract-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", fmt.Errorf("make a place for the SDKs: %w", err)
	}
	staging, err := os.MkdirTemp(filepath.Dir(dir), "contract-staging-")
	if err != nil {
		return "", fmt.Errorf("make a place for the SDKs: %w", err)
	}
	defer func() { _ = os.RemoveAll(staging) }()
	for name, data := range map[string][]byte{"package.json": manifest, "package-lock.json": lock} {
		if err := os.WriteFile(filepath.Join(staging, name), data, 0o600); err != nil {
			return "", fmt.Errorf("write %s: %w", name, err)
		}
	}
	if err := download(ctx, staging); err != nil {
		return "", err
	}
	if err := os.Rename(staging, dir); err != nil {
		if _, exists := os.Stat(dir); exists != nil { // another test was faster
			return "", fmt.Errorf("put the SDKs in place: %w", err)
		}
	}
	return dir, nil
}

func download(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	for _, sign := range []string{"ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH"} {
		if bytes.Contains(out, []byte(sign)) {
			return fmt.Errorf("npm ci: %w (%s)", errUnreachable, sign)
		}
	}
	return fmt.Errorf("npm ci: %w\n%s", err, out)
}
