package devserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/headers"
)

const goodID = "6d0ad9a5-2a4a-4d1c-9f43-0d1c6f3c1a10"

func TestUnusableDatabaseIsMovedAside(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		meta    string
		version string
		files   []string
	}{
		"older version":   {`{"server_version":"1.30.0","cluster_id":"` + goodID + `","history_shards":1}`, "1.30.0", databaseSuffixes()},
		"newer version":   {`{"server_version":"9.0.0","cluster_id":"` + goodID + `","history_shards":4}`, "9.0.0", []string{""}},
		"hostile version": {`{"server_version":"../../x","cluster_id":"` + goodID + `","history_shards":1}`, "x", []string{""}},
		"no meta":         {"", "unknown", []string{"", "-wal"}},
		"meta is no json": {"{", "unknown", []string{""}},
		"meta is empty":   {"{}", "unknown", []string{""}},
		"bad cluster id":  {`{"server_version":"` + headers.ServerVersion + `","cluster_id":"x","history_shards":1}`, "unknown", []string{""}},
		"no shards":       {`{"server_version":"` + headers.ServerVersion + `","cluster_id":"` + goodID + `"}`, "unknown", []string{""}},
		"only a wal":      {`{"server_version":"` + headers.ServerVersion + `","cluster_id":"` + goodID + `","history_shards":1}`, headers.ServerVersion, []string{"-wal"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if test.meta != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, metaFile), []byte(test.meta), 0o600))
			}
			for _, suffix := range test.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, databaseFile+suffix), []byte("old bytes"+suffix), 0o600))
			}
			o, err := Options{DataDir: dir}.withDefaults()
			require.NoError(t, err)
			db, err := openDatabase(o)
			require.NoError(t, err)

			require.Equal(t, dir, filepath.Dir(db.movedAside))
			label, ok := strings.CutPrefix(filepath.Base(db.movedAside), databaseFile+"."+test.version+".")
			require.True(t, ok, db.movedAside)
			require.Regexp(t, `^\d{8}T\d{6}Z$`, label)
			for _, suffix := range test.files {
				b, err := os.ReadFile(db.movedAside + suffix)
				require.NoError(t, err)
				require.Equal(t, "old bytes"+suffix, string(b))
			}
			if test.meta != "" {
				b, err := os.ReadFile(filepath.Join(dir, metaFile+"."+test.version+"."+label))
				require.NoError(t, err)
				require.Equal(t, test.meta, string(b))
			}

			again, err := openDatabase(o)
			require.NoError(t, err)
			require.Empty(t, again.movedAside, "the fresh database is good")
			require.Equal(t, db.meta, again.meta)
		})
	}
}

func TestMoveAsideOverwritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := map[string]string{}
	for _, content := range []string{"first", "second", "third"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, databaseFile), []byte(content), 0o600))
		path, err := moveAside(dir, "1.0.0")
		require.NoError(t, err)
		require.NotContains(t, seen, path)
		seen[path] = content
	}
	for path, content := range seen {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(b))
	}
}

func TestMetaThatCannotBeReadMovesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, databaseFile), []byte("bytes"), 0o600))
	// Reading a directory fails for every user, root included.
	require.NoError(t, os.Mkdir(filepath.Join(dir, metaFile), 0o700))
	o, err := Options{DataDir: dir}.withDefaults()
	require.NoError(t, err)
	_, err = openDatabase(o)
	require.ErrorContains(t, err, metaFile)
	require.FileExists(t, filepath.Join(dir, databaseFile))
}

func TestVersionInName(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"1.32.1":                "1.32.1",
		"1.33.0-rc_1":           "1.33.0-rc_1",
		"":                      "unknown",
		"..":                    "unknown",
		"a/b\\c\x00d":           "abcd",
		strings.Repeat("1", 99): strings.Repeat("1", 40),
	}
	for version, want := range tests {
		require.Equal(t, want, versionInName(version))
	}
}
