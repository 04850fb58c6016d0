package sandbox

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/filetree"
)

// makeDeep makes 3,000 directories in one another in the workspace, with a file in
// the first, in one that is deep, and in the last.
func makeDeep(t *testing.T, l *local) {
	t.Helper()
	at, err := os.OpenRoot(filepath.Join(l.userData.host, "workspace"))
	require.NoError(t, err)
	const levels = 3000
	for level := range levels {
		if level == 1 || level == 100 || level == levels-1 {
			require.NoError(t, at.WriteFile("leaf.txt", []byte("needle\n"), 0o644))
		}
		require.NoError(t, at.Mkdir("d", 0o755))
		inner, err := at.OpenRoot("d")
		require.NoError(t, err)
		require.NoError(t, at.Close())
		at = inner
	}
	require.NoError(t, at.Close())
	t.Cleanup(func() { // which a temporary directory cannot do
		root, err := os.OpenRoot(l.provider.root)
		require.NoError(t, err)
		defer func() { _ = root.Close() }()
		require.NoError(t, filetree.Remove(context.WithoutCancel(t.Context()), root, l.dir))
	})
}

// A tree that is deeper than anybody looks is searched as far as its bound, and the
// answer says that there is more.
func TestDeepTree(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	makeDeep(t, l)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want := []string{Workspace + "/d/leaf.txt", path.Join(Workspace, strings.Repeat("d/", 100), "leaf.txt")}

	g, err := l.Grep(ctx, ".", GrepOptions{Pattern: "needle"})
	require.NoError(t, err)
	require.True(t, g.Incomplete)
	var found []string
	for _, m := range g.Matches {
		found = append(found, m.Path)
	}
	require.ElementsMatch(t, want, found)

	f, err := l.Glob(ctx, ".", GlobOptions{Pattern: "**/*.txt"})
	require.NoError(t, err)
	require.True(t, f.Incomplete)
	require.ElementsMatch(t, want, f.Paths)

	list, err := l.List(ctx, ".")
	require.NoError(t, err)
	require.False(t, list.Incomplete, "the levels that are listed were all looked at")

	// From further down one sees further.
	f, err = l.Glob(ctx, path.Join(Workspace, strings.Repeat("d/", 90)), GlobOptions{Pattern: "*.txt"})
	require.NoError(t, err)
	require.Equal(t, want[1:], f.Paths)
	require.True(t, f.Incomplete)

	// A look at all files says that there are more, and what is not deep is seen.
	put(t, l, Outputs+"/real.md", "hello")
	s, err := l.Survey(ctx, surveyOptions())
	require.NoError(t, err)
	require.True(t, s.Deep)
	require.False(t, s.Truncated)
	require.Len(t, s.Files, 3)
	require.Equal(t, Outputs+"/real.md", s.Files[0].Path)
	require.NoError(t, l.provider.Remove(ctx, "u1", "t1"))
	require.NoDirExists(t, filepath.Dir(l.userData.host))
}

// A look that is given no time says that it has not seen everything.
func TestSurveyOutOfTime(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	put(t, l, "a.txt", "a")
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	s, err := l.Survey(ctx, surveyOptions())
	require.NoError(t, err)
	require.True(t, s.Truncated)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err = l.Survey(stopped, surveyOptions())
	require.ErrorIs(t, err, context.Canceled)
}
