package remote

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/sandbox"
	"deerflow/internal/testkit"
)

func TestFilesGoBothWays(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	root := t.TempDir()
	p := provider(t, through(testkit.NewCluster(t, b)), root)
	box := acquire(t, p, "t")
	write(t, box, "in.txt", "from here")
	write(t, box, "sub/dir/ü 'x'.txt", "deep")
	uploads := filepath.Join(root, "u/threads/t/user-data/uploads")
	require.NoError(t, os.WriteFile(filepath.Join(uploads, "up.pdf"), []byte("%PDF"), 0o644)) // I15: by the API

	require.Equal(t, "from here|deep|%PDF\n", run(t, box, `echo "$(cat in.txt)|$(cat "sub/dir/ü 'x'.txt")|$(cat /mnt/user-data/uploads/up.pdf)"`).Stdout)

	run(t, box, "echo made > /mnt/user-data/outputs/report.md; chmod 755 in.txt; echo more >> in.txt; mkdir empty; rm -r sub; mkdir -p node_modules/x; echo 1 > node_modules/x/y; ln -s /etc/passwd leak")
	require.Equal(t, "made\n", read(t, box, "/mnt/user-data/outputs/report.md"))
	require.Equal(t, "from heremore\n", read(t, box, "in.txt"))
	data := filepath.Join(root, "u/threads/t/user-data/workspace")
	require.DirExists(t, filepath.Join(data, "empty"))
	require.NoDirExists(t, filepath.Join(data, "sub"))
	require.NoDirExists(t, filepath.Join(data, "node_modules"))
	require.NoFileExists(t, filepath.Join(data, "leak"))
	info, err := os.Stat(filepath.Join(data, "in.txt"))
	require.NoError(t, err)
	require.EqualValues(t, 0o755, info.Mode().Perm())

	// An edit here, a deletion here.
	_, err = box.Edit(t.Context(), "in.txt", func([]byte) ([]byte, error) { return []byte("edited"), nil }, sandbox.WriteOptions{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(uploads, "up.pdf")))
	require.Equal(t, "edited 755\n", run(t, box, `echo "$(cat in.txt) $(stat -c %a in.txt)"; ls /mnt/user-data/uploads`).Stdout)
	require.Equal(t, "edited", read(t, box, "in.txt"))

	// Nothing to do: three looks, no archive.
	b.Set(func() { b.Calls = nil })
	run(t, box, "true")
	require.NotContains(t, strings.Join(b.Calls, "\n"), "/v1/file/")
}

// What a command left in the background writes later is there for a file tool.
func TestBackgroundWritesAreSeen(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	p := provider(t, through(testkit.NewCluster(t, b)), t.TempDir())
	box := acquire(t, p, "t")
	run(t, box, "true")
	require.NoError(t, os.WriteFile(filepath.Join(b.Dir, "mnt/user-data/workspace/build.log"), []byte("done"), 0o644))
	require.Eventually(t, func() bool { return read(t, acquire(t, p, "t"), "build.log") == "done" }, 30*time.Second, 50*time.Millisecond)
	// A machine that does not answer does not hold up file tools.
	b.Set(func() { b.Status = http.StatusBadGateway })
	time.Sleep(refreshPause + 10*time.Millisecond) // else it would not be asked
	require.Equal(t, "done", read(t, acquire(t, p, "t"), "build.log"))
}

// J07: the machine goes between two calls; another one is made once, the files are
// kept, and the model is told.
func TestJ07LostMachine(t *testing.T) {
	t.Parallel()
	first := testkit.NewMachine(t)
	c := testkit.NewCluster(t, first)
	p := provider(t, through(c), t.TempDir())
	box := acquire(t, p, "t")
	require.Empty(t, run(t, box, "echo work > w.txt; echo out > /mnt/user-data/outputs/o.txt").Notice)

	second := testkit.NewMachine(t)
	c.Set(func() { c.Current = second })
	first.Stop() // connection refused
	r := run(t, box, "cat w.txt /mnt/user-data/outputs/o.txt")
	require.Equal(t, "work\nout\n", r.Stdout)
	require.Equal(t, sandbox.Remade, r.Notice)
	require.Len(t, c.Creates, 2)
	require.Empty(t, run(t, box, "true").Notice, "it is told once")

	// 404 from what stands in front of a machine that is gone.
	third := testkit.NewMachine(t)
	c.Set(func() { c.Current = third })
	second.Set(func() { second.Status = http.StatusNotFound })
	require.Equal(t, "work\n", run(t, box, "cat w.txt").Stdout)

	// Restarted behind our back, at the same address: its files are gone, ours stay.
	// That it is another one is seen although the first answer is lost on its way.
	third.Wipe()
	third.Set(func() { third.Cut = 1 })
	r = run(t, box, "cat w.txt")
	require.Equal(t, "work\n", r.Stdout)
	require.Equal(t, sandbox.Remade, r.Notice)
	require.Equal(t, "work\n", read(t, box, "w.txt"))

	// Gone for good: not available, and nothing is destroyed.
	third.Stop()
	_, err := box.Exec(t.Context(), sandbox.Command{Line: "true"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	require.Empty(t, c.Deletes)
}

// Another process finds the machine and takes over where the first was.
func TestAnotherProcessGoesOn(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	c := testkit.NewCluster(t, b)
	root := t.TempDir()
	run(t, acquire(t, provider(t, through(c), root), "t"), "echo 1 > a.txt")
	r := run(t, acquire(t, provider(t, through(c), root), "t"), "cat a.txt; echo 2 > a.txt")
	require.Equal(t, "1\n", r.Stdout)
	require.Empty(t, r.Notice)
	box := acquire(t, provider(t, through(c), root), "t")
	require.Equal(t, "2\n", read(t, box, "a.txt"))
}

func TestMountedMachineGetsNoCopy(t *testing.T) {
	t.Parallel()
	b := testkit.NewMachine(t)
	root := t.TempDir()
	data := filepath.Join(root, "u/threads/t/user-data")
	require.NoError(t, os.MkdirAll(data, 0o755))
	require.NoError(t, os.Symlink(data, filepath.Join(b.Dir, "mnt/user-data")))
	o := through(testkit.NewCluster(t, b))
	o.Mounted = true
	box := acquire(t, provider(t, o, root), "t")
	write(t, box, "a.txt", "here")
	require.Equal(t, "here", run(t, box, "cat a.txt; echo 1 > b.txt").Stdout)
	require.Equal(t, "1\n", read(t, box, "b.txt"))
	require.NotContains(t, strings.Join(b.Calls, "\n"), "/v1/file/")
}

func TestBaseURLForEachThread(t *testing.T) {
	t.Parallel()
	o := Options{BaseURL: "http://box-{sandbox_id}.example:8080/"}
	require.NoError(t, o.complete())
	require.False(t, o.shared())
	for _, bad := range []Options{{}, {BaseURL: "host:8080"}, {ProvisionerURL: "ftp://x"}, {BaseURL: "http://"}} {
		_, err := New(bad, sandbox.LocalOptions{Root: t.TempDir()})
		require.Error(t, err)
	}
}

func TestProxyIsBypassedNearby(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "192.168.0.9": true, "172.20.1.1": true, "::1": true, "fd00::1": true, "169.254.1.1": true,
		"localhost": true, "sandbox-1-svc": true, "sandbox-1-svc.deer-flow.svc.cluster.local": true, "host.docker.internal": true,
		"8.8.8.8": false, "sandbox.example.com": false, "2001:db8::1": false,
	} {
		require.Equal(t, want, nearby(host), host)
	}
	u, err := proxy(&http.Request{URL: &url.URL{Scheme: "http", Host: "10.0.0.1:8080"}})
	require.NoError(t, err)
	require.Nil(t, u)
}

func TestParseTree(t *testing.T) {
	t.Parallel()
	tr, err := parseTree("f 5 1700000000.1234567890 644 workspace/a b.txt\x00d 4096 1700000000.0 755 workspace/d\x00" +
		"f 1 1.0 644 ../etc/passwd\x00f 1 1.0 644 /etc/passwd\x00f 1 1.0 644 elsewhere/x\x00d 1 1.0 755 workspace\x00f 200000000 1.0 644 workspace/huge\x00")
	require.NoError(t, err)
	require.Equal(t, map[string]entry{
		"workspace/a b.txt": {size: 5, mtime: 1700000000_123456789, mode: 0o644},
		"workspace/d":       {dir: true, size: 4096, mtime: 1700000000_000000000, mode: 0o755},
	}, tr.entries)
	for _, bad := range []string{"x", "f a 1 644 workspace/a", "f 1 x 644 workspace/a", "f 1 1.0 9 workspace/a"} {
		_, err := parseTree(bad)
		require.Error(t, err, bad)
	}
	var many strings.Builder
	for i := range maxFiles + 1 {
		many.WriteString("f 1 1.0 644 workspace/" + strconv.Itoa(i) + "\x00")
	}
	tr, err = parseTree(many.String())
	require.NoError(t, err)
	require.True(t, tr.partial)
}

func TestCompare(t *testing.T) {
	t.Parallel()
	old, changed, younger := entry{size: 1, mtime: 1}, entry{size: 2, mtime: 2}, entry{size: 3, mtime: 3}
	dir := entry{dir: true}
	type side map[string]entry
	const f = "workspace/f"
	for name, tt := range map[string]struct {
		here, there side
		base        map[string]pair
		partial     bool
		want        plan
	}{
		"new here":                 {side{f: old}, side{}, nil, false, plan{push: []string{f}}},
		"new there":                {side{}, side{f: old}, nil, false, plan{pull: []string{f}}},
		"the same":                 {side{f: old}, side{f: old}, nil, false, plan{equal: []string{f}}},
		"changed here":             {side{f: changed}, side{f: old}, map[string]pair{f: {old, old}}, false, plan{push: []string{f}}},
		"changed there":            {side{f: old}, side{f: changed}, map[string]pair{f: {old, old}}, false, plan{pull: []string{f}}},
		"changed on both":          {side{f: changed}, side{f: younger}, map[string]pair{f: {old, old}}, false, plan{push: []string{f}}},
		"unknown, younger there":   {side{f: changed}, side{f: younger}, nil, false, plan{pull: []string{f}}},
		"unknown, younger here":    {side{f: younger}, side{f: changed}, nil, false, plan{push: []string{f}}},
		"deleted there":            {side{f: old}, side{}, map[string]pair{f: {old, old}}, false, plan{dropHere: []string{f}}},
		"deleted here":             {side{}, side{f: old}, map[string]pair{f: {old, old}}, false, plan{dropAway: []string{f}}},
		"deleted there, edited":    {side{f: changed}, side{}, map[string]pair{f: {old, old}}, false, plan{push: []string{f}}},
		"deleted here, edited":     {side{}, side{f: changed}, map[string]pair{f: {old, old}}, false, plan{pull: []string{f}}},
		"not seen whole":           {side{f: old}, side{}, map[string]pair{f: {old, old}}, true, plan{}},
		"a file and a directory":   {side{f: old}, side{f: dir}, nil, false, plan{}},
		"times kept otherwise":     {side{f: old}, side{f: changed}, map[string]pair{f: {old, changed}}, false, plan{equal: []string{f}}},
		"a directory on each side": {side{f: dir}, side{f: dir}, nil, false, plan{equal: []string{f}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, compare(tree{entries: tt.here}, tree{entries: tt.there, partial: tt.partial}, tt.base))
		})
	}
}

// Whatever both sides did, after a copy both have the same, nothing that one side has
// changed since the last copy is lost but to a change of the other, and a second copy
// has nothing to do.
func TestCompareConverges(t *testing.T) {
	t.Parallel()
	names := []string{"workspace/a", "workspace/b", "outputs/c"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) map[string]entry {
			m := map[string]entry{}
			for _, n := range names {
				if v := rapid.Int64Range(0, 3).Draw(t, label+n); v > 0 {
					m[n] = entry{size: v, mtime: v}
				}
			}
			return m
		}
		here, there, base := draw("here "), draw("there "), map[string]pair{}
		for n, e := range draw("base ") {
			base[n] = pair{e, e}
		}
		before := map[string][2]entry{}
		for _, n := range names {
			before[n] = [2]entry{here[n], there[n]}
		}
		p := compare(tree{entries: here}, tree{entries: there}, base)
		for _, n := range p.push {
			there[n] = here[n]
		}
		for _, n := range p.pull {
			here[n] = there[n]
		}
		for _, n := range p.dropHere {
			delete(here, n)
		}
		for _, n := range p.dropAway {
			delete(there, n)
		}
		next := map[string]pair{}
		for n, e := range here {
			next[n] = pair{e, there[n]}
		}
		if len(here) != len(there) {
			t.Fatalf("here %v, there %v", here, there)
		}
		for n, e := range here {
			if there[n] != e {
				t.Fatalf("%s: here %v, there %v", n, e, there[n])
			}
		}
		for _, n := range names {
			if h := before[n][0]; h != (entry{}) && h != base[n].here && before[n][1] == base[n].there && here[n] != h {
				t.Fatalf("%s: a change here is lost", n)
			}
			if r := before[n][1]; r != (entry{}) && r != base[n].there && before[n][0] == base[n].here && here[n] != r {
				t.Fatalf("%s: a change there is lost", n)
			}
		}
		again := compare(tree{entries: here}, tree{entries: there}, next)
		if len(again.push)+len(again.pull)+len(again.dropHere)+len(again.dropAway) > 0 {
			t.Fatalf("not at rest: %+v", again)
		}
	})
}
