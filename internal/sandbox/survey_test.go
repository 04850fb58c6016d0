package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func surveyOptions() SurveyOptions {
	return SurveyOptions{
		Dirs: []string{Outputs, Uploads, Workspace}, Skip: []string{".tool-results"},
		MaxFiles: 100, MaxHashed: 1000, MaxRead: 1 << 20, MaxText: 500, MaxTexts: 1 << 20,
	}
}

func TestSurvey(t *testing.T) {
	t.Parallel()
	p, err := NewLocal(LocalOptions{Root: filepath.Join(t.TempDir(), "users")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	box, err := p.Acquire(t.Context(), "u1", "t1")
	require.NoError(t, err)
	host := filepath.Join(p.root, "u1/threads/t1/user-data")
	put := func(name, content string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(host, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(host, name), []byte(content), 0o644))
	}
	put("workspace/a.txt", "alpha")
	put("workspace/a/b.txt", "beta")
	put("workspace/a-b.txt", "")
	put("workspace/node_modules/x.js", "ignored")
	put("workspace/empty.d/.keep", "k")
	put("outputs/.tool-results/bash-1.log.txt", "not produced") // 10.17-10
	put("outputs/r.md", "# R")
	// What is handed over is told whatever its name.
	put("outputs/build/index.html", "built")
	put("outputs/dist/out/run.log", "l")
	put("outputs/node_modules/x.js", "ignored")
	put("outputs/.write-1.tmp", "under way")
	put("outputs/.env", "KEY=1")
	put("uploads/app.log", "log")
	put("workspace/.env", "KEY=2")
	put("workspace/env/bin/x", "ignored")
	put("workspace/build/x.o", "ignored")
	put("workspace/out", "a file that is called like a directory of builds")
	put("workspace/run.log", "ignored")
	put("outputs/data.bin", "\x00\xff")
	put("outputs/large.csv", strings.Repeat("x", 1001))
	put("outputs/middle.csv", strings.Repeat("y", 501))
	put("uploads/u.txt", "up")
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(host, "outputs/leak")))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(host, "workspace/link")))
	require.NoError(t, os.Symlink(filepath.Join(host, "workspace/a"), filepath.Join(host, "workspace/dirlink")))

	s, err := box.(Surveyor).Survey(t.Context(), surveyOptions())
	require.NoError(t, err)
	require.False(t, s.Truncated)
	var paths []string
	at := map[string]Surveyed{}
	for _, f := range s.Files {
		name := strings.TrimPrefix(f.Path, UserData+"/")
		paths = append(paths, name)
		at[name] = f
	}
	require.Equal(t, []string{
		"outputs/.env", "outputs/build/index.html", "outputs/data.bin", "outputs/dist/out/run.log", "outputs/large.csv", "outputs/leak",
		"outputs/middle.csv", "outputs/r.md", "uploads/app.log", "uploads/u.txt",
		"workspace/.env", "workspace/a/b.txt", "workspace/a-b.txt", "workspace/a.txt", "workspace/dirlink", "workspace/empty.d/.keep", "workspace/link",
		"workspace/out",
	}, paths, "what tools and builds drop is left out, no link is followed")
	require.True(t, slices.IsSortedFunc(s.Files, func(a, b Surveyed) int { return InWalkOrder(a.Path, b.Path) }))
	require.True(t, at["outputs/data.bin"].Binary)
	require.Empty(t, at["outputs/large.csv"].Hash)
	require.NotEmpty(t, at["outputs/middle.csv"].Hash)
	require.Equal(t, "a.txt", at["workspace/link"].Link)
	require.NotContains(t, at["workspace/dirlink"].Link, p.root, "no path of the host")
	require.Equal(t, "alpha", s.Texts[at["workspace/a.txt"].Hash])
	require.NotContains(t, s.Texts, at["outputs/middle.csv"].Hash)
	for _, text := range s.Texts {
		require.NotEqual(t, "secret", text)
	}

	// What is known and has not changed is not read again.
	o := surveyOptions()
	o.Known = map[string]Surveyed{}
	for _, f := range s.Files {
		o.Known[f.Path] = f
	}
	put("workspace/a.txt", "ALPHA")
	require.NoError(t, os.Chtimes(filepath.Join(host, "workspace/a.txt"), time.Now(), time.Now().Add(time.Second)))
	again, err := box.(Surveyor).Survey(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, again.Texts, 1)
	for i := range again.Files {
		require.Equal(t, again.Files[i].Path != Workspace+"/a.txt", s.Files[i].Same(&again.Files[i]), again.Files[i].Path)
	}

	o = surveyOptions()
	o.MaxFiles = 3
	few, err := box.(Surveyor).Survey(t.Context(), o)
	require.NoError(t, err)
	require.True(t, few.Truncated)
	require.Equal(t, s.Files[1].Path, few.Files[1].Path)
	require.Len(t, few.Files, 3)
	o = surveyOptions()
	o.MaxRead, o.MaxTexts = 6, 5
	little, err := box.(Surveyor).Survey(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, little.Files, len(s.Files))
	require.LessOrEqual(t, len(little.Texts), 2)

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = box.(Surveyor).Survey(gone, surveyOptions())
	require.ErrorIs(t, err, context.Canceled)
}

func TestWalkOrder(t *testing.T) {
	t.Parallel()
	order := []string{"/a", "/a/b", "/a/b/c", "/a-b", "/a.txt", "/b"}
	for i, a := range order {
		for j, b := range order {
			require.Equal(t, i < j, InWalkOrder(a, b) < 0, "%s %s", a, b)
			require.Equal(t, i == j, InWalkOrder(a, b) == 0, "%s %s", a, b)
		}
	}
}

// BenchmarkSurvey is a look at 1,000 files of which none has changed, as after
// each command.
func BenchmarkSurvey(b *testing.B) {
	p, err := NewLocal(LocalOptions{Root: filepath.Join(b.TempDir(), "users")})
	require.NoError(b, err)
	defer func() { require.NoError(b, p.Close()) }()
	box, err := p.Acquire(b.Context(), "u1", "t1")
	require.NoError(b, err)
	for i := range 1000 {
		name := filepath.Join(p.root, "u1/threads/t1/user-data/workspace", fmt.Sprintf("d%d/f%d.txt", i%20, i))
		require.NoError(b, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(b, os.WriteFile(name, []byte(strings.Repeat("line\n", 1000)), 0o644))
	}
	o := surveyOptions()
	o.MaxFiles, o.MaxHashed, o.MaxRead, o.MaxTexts = 5000, 256<<10, 32<<20, 4<<20
	for _, known := range []bool{false, true} {
		b.Run(fmt.Sprintf("known=%v", known), func(b *testing.B) {
			for b.Loop() {
				s, err := box.(Surveyor).Survey(b.Context(), o)
				require.NoError(b, err)
				require.Len(b, s.Files, 1000)
				if known && o.Known == nil {
					o.Known = map[string]Surveyed{}
					for _, f := range s.Files {
						o.Known[f.Path] = f
					}
				}
			}
		})
	}
}
