//go:build linux

package limits

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// smallDisk is a file system of its own with so many bytes. It skips the test
// where none can be made.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("a small disk is needed, and a tmpfs cannot be mounted here (that takes root): %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// fill takes all room that is left; the file that is returned gives it back.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	require.NoError(t, err)
	chunk := make([]byte, 64<<10)
	for size := len(chunk); size > 0; {
		if _, err = f.Write(chunk[:size]); err != nil {
			size /= 2
		}
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	_ = f.Close() // it is full
	return path
}

// The disk of both databases is full in the middle of an answer: the run waits,
// health says so, nothing that was acknowledged is lost, and when there is room
// the run goes on.
func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	m, answering := work(t)
	dir := smallDisk(t, 96<<20)
	p := testkit.StartDev(t, testkit.DevOptions{DataDir: filepath.Join(dir, "data"), Config: testkit.ConfigFor(m)})
	api := p.API()
	id, other := newThread(t, api), newThread(t, api)
	require.Equal(t, "success", run(t, api, other, testkit.SayWatched("before")).Status)
	before := texts(messages(t, api, other))
	ctx := patient(t)
	stream, err := api.StreamRun(ctx, id, testkit.SayWatched("work"))
	require.NoError(t, err)
	defer stream.Close()
	<-answering.Reached()
	ballast := fill(t, dir)
	filled := time.Now()
	answering.Release()
	// Files have some room that they were given before: writes fail when it is
	// used up.
	require.Eventually(t, func() bool {
		_, err := api.CreateRun(ctx, other, testkit.SayWatched(strings.Repeat("more ", 200_000)))
		return testkit.StatusOf(err) == 503
	}, patience, tick, "what cannot be stored is refused")
	sick(t, api, "database")
	time.Sleep(time.Until(filled.Add(outage)))
	require.NoError(t, os.Remove(ballast))

	_, err = stream.Until(ctx, testkit.IsEvent("end"))
	require.NoError(t, err, "the reader keeps its stream")
	// An answer that neither database had room for may be asked for again; the
	// tool ran once.
	requireTranscript(t, api, id)
	require.Eventually(t, func() bool { return api.UpdateState(ctx, id, map[string]any{"title": "there is room"}) == nil }, patience, tick)
	healthy(t, api)
	require.Equal(t, before, texts(messages(t, api, other))[:len(before)])
}

// A write of a tool that finds the disk full tells the model so, and leaves the
// old file whole.
func TestAToolFindsTheDiskFull(t *testing.T) {
	t.Parallel()
	m := testkit.NewModel(t)
	dir := smallDisk(t, 1<<20)
	data := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.MkdirAll(data, 0o700))
	require.NoError(t, os.Symlink(dir, filepath.Join(data, "users")))
	full := make(chan struct{})
	write := func(id, text string) testkit.Reply {
		return testkit.ToolCalls(call(id, "write_file", map[string]any{"description": "d", "path": "/mnt/user-data/outputs/a.md", "content": text}))
	}
	old, next := strings.Repeat("old ", 10_000), strings.Repeat("new ", 15_000)
	var ballast string
	var kept []byte // what the file has after the write that failed
	m.Respond(testkit.ByTurn(
		write("w1", old),
		write("w2", next).Before(testkit.Do(func() { ballast = fill(t, dir); close(full) })),
		write("w3", next).Before(testkit.Do(func() {
			if found, _ := filepath.Glob(filepath.Join(dir, "*", "threads", "*", "user-data", "outputs", "a.md")); len(found) == 1 {
				kept, _ = os.ReadFile(found[0])
			}
			_ = os.Remove(ballast) // a third write that finds no room fails the test
		})),
		testkit.Text("done"),
	))
	p := testkit.StartDev(t, testkit.DevOptions{DataDir: data, Config: testkit.ConfigFor(m, "read_before_write: {enabled: false}")})
	id := newThread(t, p.API())
	ctx := patient(t)
	r, err := p.API().CreateRun(ctx, id, testkit.SayWatched("write"))
	require.NoError(t, err)
	<-full
	_, err = m.Await(ctx, 3)
	require.NoError(t, err)
	_, err = p.API().AwaitRun(ctx, id, r.RunID, "success")
	require.NoError(t, err)
	list := messages(t, p.API(), id)
	require.Equal(t, "OK", list[2].Text())
	require.Contains(t, list[4].Text(), "no space left", "the model is told")
	require.Equal(t, old, string(kept), "the old file is whole")
	require.Equal(t, "OK", list[6].Text())
	written, err := p.API().Artifact(ctx, id, "mnt/user-data/outputs/a.md")
	require.NoError(t, err)
	require.Equal(t, next, string(written))
}
