package webui

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The size of a picture, and how small the page is drawn in it: a whole story
// fits into one.
const (
	width  = 1400
	height = 900
	scale  = 0.8
)

// patience bounds every wait: it is reached by a failure only.
const patience = 60 * time.Second

// updateEnv writes the pictures into the documentation.
const updateEnv = "DEERFLOW_UPDATE_SCREENSHOTS"

// browser is one tab of a headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // it is the tab
}

// openBrowser starts a Chromium with a profile of its own. Without one installed
// the test is skipped.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium on this machine: install the package chromium to look at the Temporal Web UI")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(width, height),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
	}
	for _, flag := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, closeBrowser := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(closeBrowser)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	b := &browser{t: t, ctx: ctx}
	b.do(chromedp.EmulateViewport(int64(width/scale), int64(height/scale), chromedp.EmulateScale(scale)))
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

// visit opens a page; the rest of it may come later.
func (b *browser) visit(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// location is where the page has led.
func (b *browser) location() string {
	b.t.Helper()
	url, err := chromedp.Run(b.ctx, chromedp.Location())
	require.NoError(b.t, err)
	return url
}

// evaluate asks the page.
func evaluate[T any](b *browser, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	require.NoError(b.t, err)
	return value
}

// reads waits until a person can read all of the texts on the page.
func (b *browser) reads(texts ...string) {
	b.t.Helper()
	b.until(func() string { return evaluate[string](b, `document.body ? document.body.innerText : ""`) }, texts)
}

// framed waits until the frame with the current details has all of the texts.
func (b *browser) framed(texts ...string) {
	b.t.Helper()
	const frame = `document.querySelector("iframe#user-metadata-current-details")`
	b.until(func() string {
		return evaluate[string](b, `(() => { const f = `+frame+`; return f && f.contentDocument && f.contentDocument.body ? f.contentDocument.body.innerText : "" })()`)
	}, texts)
}

func (b *browser) until(look func() string, texts []string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		shown := look()
		missing := ""
		for _, text := range texts {
			if !strings.Contains(plain(shown), plain(text)) {
				missing = text
				break
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			require.Contains(b.t, shown, missing, "at %s", b.location())
		}
		b.do(chromedp.Sleep(100 * time.Millisecond))
	}
}

// plain makes all white space alike: where a page breaks its lines is its own
// matter.
func plain(s string) string { return strings.Join(strings.Fields(s), " ") }

// picture draws what is seen now: into the documentation when that is asked for,
// else into a directory that ends with the test.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := b.t.TempDir()
	if os.Getenv(updateEnv) != "" {
		dir = filepath.Join("..", "..", "docs", "images")
		require.NoError(b.t, os.MkdirAll(dir, 0o750))
	}
	b.do(chromedp.Sleep(500 * time.Millisecond)) // for what moves to come to rest; nothing depends on it
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.Equal(b.t, "\x89PNG", string(data[:4]))
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}
