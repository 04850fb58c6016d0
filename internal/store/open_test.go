package store

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// A database that a newer binary made is refused before anything is written.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		o := sqliteOptions(t)
		s, err := Open(t.Context(), o)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		db, err := sql.Open("sqlite", sqliteURL(o.Path, nil))
		require.NoError(t, err)
		makeNewer(t, db)
		before, err := os.ReadFile(o.Path)
		require.NoError(t, err)

		_, err = Open(t.Context(), o)
		requireNewer(t, err)
		require.ErrorContains(t, err, o.Path)
		after, err := os.ReadFile(o.Path)
		require.NoError(t, err)
		require.Equal(t, before, after)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		o := Options{URL: newDatabase(t)}
		s, err := Open(t.Context(), o)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		db, err := sql.Open("pgx", o.URL)
		require.NoError(t, err)
		makeNewer(t, db)
		_, err = Open(t.Context(), o)
		requireNewer(t, err)
	})
}

func makeNewer(t *testing.T, db *sql.DB) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (900, true)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

func requireNewer(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, ErrNewer)
	var newer *NewerError
	require.ErrorAs(t, err, &newer)
	require.Equal(t, int64(900), newer.Found)
	require.ErrorContains(t, err, "900")
	known, err := knownVersion(dialectSQLite)
	require.NoError(t, err)
	require.Equal(t, known, newer.Known)
}

// The version may stand in the write-ahead log of a process that was killed.
func TestNewerDatabaseAfterKill(t *testing.T) {
	t.Parallel()
	o := sqliteOptions(t)
	s, err := Open(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, s.write(t.Context(), "", func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (900, true)`)
		return err
	}))
	copied := Options{Path: filepath.Join(t.TempDir(), "copy.db")}
	files := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(o.Path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(copied.Path+suffix, data, 0o600))
		files[copied.Path+suffix] = data
	}
	require.NotEmpty(t, files[copied.Path+"-wal"])
	_, err = Open(t.Context(), copied)
	requireNewer(t, err)
	for path, before := range files {
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	require.NoError(t, s.Close())
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := filepath.Join(dir, "temporal.db")
	db, err := sql.Open("sqlite", sqliteURL(foreign, nil))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `CREATE TABLE executions (id TEXT)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("this is not a database, it is a letter"), 0o600))

	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"nothing":         {Options{}, "neither a URL nor a file"},
		"synchronous":     {Options{Path: filepath.Join(dir, "a.db"), Synchronous: "OFF"}, "must be FULL or NORMAL"},
		"no folder":       {Options{Path: filepath.Join(dir, "none", "a.db")}, filepath.Join(dir, "none", "a.db")},
		"another program": {Options{Path: foreign}, "another program"},
		"no database":     {Options{Path: text}, text},
		"bad URL":         {Options{URL: "postgres://user:secret@host:port/x"}, "database URL"},
		"nobody there":    {Options{URL: "postgres://user:secret@127.0.0.1:1/x?connect_timeout=2"}, "open database x on 127.0.0.1:1"},
	} {
		_, err := Open(t.Context(), c.options)
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), "secret", name)
	}
	require.NoFileExists(t, filepath.Join(dir, "a.db"))
}

func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	f := openFixture(t, sqliteOptions(t))
	f.newThread("t1")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(f.opt.Path + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
}

// What was acknowledged is there when the database is opened again.
func TestReopen(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "hi")
		f.start("t1", "r1", 0)
		o := f.owner(ref("t1", "r1", 2))
		require.NoError(f.t, f.Append(f.ctx, o, delta(o, "half")))
		log := f.log("t1")
		second, err := Open(f.ctx, f.opt) // beside the first, as another process
		require.NoError(f.t, err)
		again, err := second.Events(f.ctx, "t1", 0, 0)
		require.NoError(f.t, err)
		require.Equal(f.t, log, again)
		c, err := second.Claim(f.ctx, Claim{Ref: o.Ref, MessageID: o.MessageID})
		require.NoError(f.t, err)
		require.Equal(f.t, 2, c.Claim)
		require.ErrorIs(f.t, f.Append(f.ctx, o, delta(o, "late")), ErrFenced)
		active, err := second.ActiveThreads(f.ctx)
		require.NoError(f.t, err)
		require.Equal(f.t, []string{"t1"}, active)
		th, err := second.GetThread(f.ctx, "t1")
		require.NoError(f.t, err)
		require.Equal(f.t, thread.StatusBusy, th.Status)
		require.NoError(f.t, second.Close())
	})
}
