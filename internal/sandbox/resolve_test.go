package sandbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// I02: links that leave are refused for reading, writing, and targets that do
// not exist yet; listings leave them out; links that stay inside work.
func TestSymlinks(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("top secret"), 0o600))
	other := acquire(t, l.provider, "u2", "t9")
	put(t, other, "private.md", "private")

	ws := l.host(Workspace)
	mustSymlink(t, "/", filepath.Join(ws, "out"))
	mustSymlink(t, secret, filepath.Join(ws, "secret"))
	mustSymlink(t, "../../../../../../../../../../../../etc", filepath.Join(ws, "etc"))
	mustSymlink(t, other.host(Workspace), filepath.Join(ws, "neighbour"))
	mustSymlink(t, filepath.Join(filepath.Dir(secret), "new"), filepath.Join(ws, "new"))
	mustSymlink(t, "loop2", filepath.Join(ws, "loop1"))
	mustSymlink(t, "loop1", filepath.Join(ws, "loop2"))
	for _, path := range []string{"out/etc/passwd", "secret", "etc/passwd", "neighbour/private.md", "out", "etc", "new", "loop1"} {
		_, _, err := l.Open(t.Context(), path)
		require.Error(t, err, path)
		if path != "loop1" {
			require.ErrorIs(t, err, fs.ErrPermission, path)
		}
		noHost(t, l, err.Error())
		require.NotContains(t, err.Error(), secret)
		for _, target := range []string{path, path + "/made/by/us"} {
			_, err = l.WriteFile(t.Context(), target, strings.NewReader("x"), WriteOptions{})
			require.Error(t, err, target)
			noHost(t, l, err.Error())
		}
	}
	require.NoFileExists(t, filepath.Join(filepath.Dir(secret), "new"))
	data, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "top secret", string(data))

	list, err := l.List(t.Context(), Workspace)
	require.NoError(t, err)
	require.Empty(t, list.Paths)
	found, err := l.Glob(t.Context(), Workspace, GlobOptions{Pattern: "**", Dirs: true})
	require.NoError(t, err)
	require.Empty(t, found.Paths)
	hits, err := l.Grep(t.Context(), Workspace, GrepOptions{Pattern: "."})
	require.NoError(t, err)
	require.Empty(t, hits.Matches)
}

func TestLinksInside(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	put(t, l, Outputs+"/real/r.md", "report")
	ws := l.host(Workspace)
	mustSymlink(t, "../outputs/real", filepath.Join(ws, "relative"))
	mustSymlink(t, l.host(Outputs+"/real"), filepath.Join(ws, "absolute"))
	mustSymlink(t, Outputs+"/real", filepath.Join(ws, "virtual"))
	mustSymlink(t, "relative/r.md", filepath.Join(ws, "chain.md"))
	mustSymlink(t, "../outputs/later.md", filepath.Join(ws, "later.md"))
	for _, path := range []string{"relative/r.md", "absolute/r.md", "virtual/r.md", "chain.md"} {
		require.Equal(t, "report", get(t, l, path), path)
		info, err := l.Stat(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, Outputs+"/real/r.md", info.Real)
		require.Equal(t, Workspace+"/"+path, info.Path)
	}
	put(t, l, "chain.md", "changed") // the link stays, its target changes
	require.Equal(t, "changed", get(t, l, Outputs+"/real/r.md"))
	put(t, l, "later.md", "made") // a link to what does not exist yet
	require.Equal(t, "made", get(t, l, Outputs+"/later.md"))
	put(t, l, "absolute/deep/er.md", "deep")
	require.Equal(t, "deep", get(t, l, Outputs+"/real/deep/er.md"))
	list, err := l.List(t.Context(), Workspace)
	require.NoError(t, err)
	require.Equal(t, []string{
		Workspace + "/absolute/", Workspace + "/chain.md", Workspace + "/later.md",
		Workspace + "/relative/", Workspace + "/virtual/",
	}, list.Paths)
}

// I02: a link that is swapped between check and use never leads out.
func TestSymlinkRace(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "f"), []byte("secret"), 0o600))
	put(t, l, "inside/f", "public")
	put(t, l, "keep/f", "public")
	swapped := filepath.Join(l.host(Workspace), "dir")

	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		temp := swapped + "~"
		for i := 0; ctx.Err() == nil; i++ {
			target := "inside"
			if i%2 == 0 {
				target = outside
			}
			_ = os.Symlink(target, temp)
			_ = os.Rename(temp, swapped)
		}
	})
	read, refused := 0, 0
	for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); {
		f, _, err := l.Open(t.Context(), "dir/f")
		if err != nil {
			refused++
		} else {
			data, err := io.ReadAll(f)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.Equal(t, "public", string(data))
			read++
		}
		_, err = l.WriteFile(t.Context(), "dir/f", strings.NewReader("public"), WriteOptions{})
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
	}
	stop()
	wg.Wait()
	require.Positive(t, read)
	require.Positive(t, refused)
	data, err := os.ReadFile(filepath.Join(outside, "f"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(data))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// I02: a hard link to a file outside is refused, and never written through; one
// whose names all lie inside is a file like any other.
func TestHardLinks(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	secret := filepath.Join(filepath.Dir(l.provider.root), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.Link(secret, l.host(Workspace+"/hard.md")))
	_, _, err := l.Open(t.Context(), "hard.md")
	require.ErrorIs(t, err, ErrHardLink)
	require.ErrorIs(t, err, fs.ErrPermission)
	_, err = l.WriteFile(t.Context(), "hard.md", strings.NewReader("x"), WriteOptions{})
	require.ErrorIs(t, err, ErrHardLink)
	hits, err := l.Grep(t.Context(), Workspace, GrepOptions{Pattern: "secret"})
	require.NoError(t, err)
	require.Empty(t, hits.Matches)

	put(t, l, "a.md", "both")
	require.NoError(t, os.Link(l.host(Workspace+"/a.md"), l.host(Outputs+"/b.md")))
	require.Equal(t, "both", get(t, l, "a.md"))
	put(t, l, "a.md", "one")
	require.Equal(t, "both", get(t, l, Outputs+"/b.md"))
}

// What is no regular file is refused at once and blocks nothing.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	require.NoError(t, syscall.Mkfifo(l.host(Workspace+"/pipe"), 0o600))
	_, _, err := l.Open(t.Context(), "pipe")
	require.ErrorIs(t, err, ErrNotRegular)
	_, err = l.WriteFile(t.Context(), "pipe", strings.NewReader("x"), WriteOptions{})
	require.ErrorIs(t, err, ErrNotRegular)
	_, err = l.Grep(t.Context(), "pipe", GrepOptions{Pattern: "x"})
	require.ErrorIs(t, err, ErrNotRegular)
	hits, err := l.Grep(t.Context(), Workspace, GrepOptions{Pattern: "x"})
	require.NoError(t, err)
	require.Empty(t, hits.Matches)
}

// I04: a name is found in either Unicode normal form.
func TestNormalForms(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	composed, decomposed := "r\u00e9sum\u00e9.pdf", "re\u0301sume\u0301.pdf"
	require.NoError(t, os.WriteFile(l.host(Uploads+"/"+decomposed), []byte("x"), 0o600))
	require.Equal(t, "x", get(t, l, Uploads+"/"+composed))
	require.Equal(t, "x", get(t, l, Uploads+"/"+decomposed))
}
