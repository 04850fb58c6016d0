package devserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	databaseFile = "temporal.db"
	clusterName  = "active"
)

// database is the SQLite file of the server, ready to be served.
type database struct {
	meta meta
	sql  *config.SQL
	// movedAside is where an older database went, empty if there was none.
	movedAside string
}

// openDatabase finds the database of the data directory or makes one. A database that this server cannot use is moved
// aside before. The caller holds the directory's lock.
func openDatabase(o Options) (*database, error) {
	path := filepath.Join(o.DataDir, databaseFile)
	m, aside, err := reuse(o.DataDir)
	if err != nil {
		return nil, err
	}
	db := &database{meta: m, sql: sqlConfig(path, o.Synchronous), movedAside: aside}
	fresh := m == meta{}
	if fresh {
		if err := db.create(path); err != nil {
			return nil, err
		}
	}
	if err := db.ensureNamespace(o); err != nil {
		return nil, err
	}
	if fresh {
		// Last, so that a database that was not finished has no meta and is not taken for a good one.
		db.meta = newMeta()
		if err := db.meta.write(o.DataDir); err != nil {
			return nil, err
		}
	}
	return db, nil
}

// reuse returns the meta of a database that can be served as it is. Otherwise the meta is zero, the place of the
// database is empty, and aside says where an unusable one went.
func reuse(dir string) (m meta, aside string, err error) {
	remains, err := anyExists(dir, []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm"})
	if err != nil {
		return meta{}, "", fmt.Errorf("looking for the Temporal database: %w", err)
	}
	if !remains {
		return meta{}, "", nil
	}
	m, err = readMeta(dir)
	var failed *fs.PathError
	if errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist) {
		// A disk that cannot be read says nothing about the version.
		return meta{}, "", err
	}
	// Without its main file a -wal is only a remainder.
	hasMain, lookErr := anyExists(dir, []string{databaseFile})
	if lookErr != nil {
		return meta{}, "", fmt.Errorf("looking for the Temporal database: %w", lookErr)
	}
	if hasMain && err == nil && m.ServerVersion == headers.ServerVersion {
		return m, "", nil
	}
	aside, err = moveAside(dir, m.ServerVersion)
	return meta{}, aside, err
}

func (db *database) create(path string) error {
	// SQLite gives its -wal and -shm the mode of the file. What people say to an agent is nobody else's business.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the caller's own data directory
	if err != nil {
		return fmt.Errorf("creating the Temporal database: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("creating the Temporal database: %w", err)
	}
	if err := sqlite.SetupSchema(db.sql); err != nil {
		return fmt.Errorf("creating the tables of %s: %w", path, err)
	}
	return nil
}

// ensureNamespace makes the namespace if it does not exist; one that exists is left as it is. Writing it before the
// server starts saves the wait for the server's namespace cache.
func (db *database) ensureNamespace(o Options) error {
	ns, err := sqlite.NewNamespaceConfig(clusterName, o.Namespace, false, o.SearchAttributes)
	if err != nil {
		return fmt.Errorf("planning the Temporal namespace %q: %w", o.Namespace, err)
	}
	ns.Detail.Config.Retention = durationpb.New(o.Retention)
	if err := sqlite.CreateNamespaces(db.sql, ns); err != nil {
		return fmt.Errorf("creating the Temporal namespace %q in %s: %w; if the file is damaged, move it away "+
			"and a fresh one is made", o.Namespace, filepath.Join(o.DataDir, databaseFile), err)
	}
	return nil
}

// checkpoint moves the write-ahead log into the main file, so that a stopped server leaves one file to copy.
func (db *database) checkpoint() error {
	admin, err := sql.NewSQLAdminDB(sqlplugin.DbKindMain, db.sql, resolver.NewNoopResolver(), log.NewNoopLogger(),
		metrics.NoopMetricsHandler)
	if err != nil {
		return fmt.Errorf("opening the Temporal database: %w", err)
	}
	err = admin.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	if err = errors.Join(err, admin.Close()); err != nil {
		return fmt.Errorf("checkpointing the Temporal database: %w", err)
	}
	return nil
}

// sqlConfig says how the server opens the file. Whatever is not a known URI parameter becomes a pragma.
func sqlConfig(path, synchronous string) *config.SQL {
	return &config.SQL{
		PluginName: sqliteplugin.PluginName,
		// The plugin pastes the name into a URI, in which a path may not hold ?, # or % as they are.
		DatabaseName: (&url.URL{Path: path}).EscapedPath(),
		ConnectAttributes: map[string]string{
			"mode":         "rwc",
			"journal_mode": "wal",
			"synchronous":  synchronous,
			"busy_timeout": "10000",
			// The plugin keeps one connection for each distinct set of attributes and never closes it. After a file
			// was moved aside, a second start in the same process would go on writing to the moved one. SQLite
			// ignores pragmas that it does not know.
			"deerflow_boot": "b" + strings.ReplaceAll(uuid.NewString(), "-", ""),
		},
	}
}

// databaseSuffixes are of the files that make a SQLite database.
func databaseSuffixes() []string { return []string{"", "-wal", "-shm"} }

// versionInName keeps of a version what may stand in a file name.
func versionInName(version string) string {
	keep := func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '.', r == '-', r == '_':
			return r
		}
		return -1
	}
	if version = strings.Trim(strings.Map(keep, version), "."); version == "" {
		return "unknown"
	}
	const limit = 40
	return version[:min(len(version), limit)]
}
