package devserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"go.temporal.io/server/common/headers"
)

const metaFile = "temporal.json"

// historyShards of a fresh file. It can never change for a file that exists. More than one does not help one node.
const historyShards = 1

// meta is the content of temporal.json: what must stay the same for as long as the database lives.
type meta struct {
	// ServerVersion is the release of the Temporal server that made the file.
	ServerVersion string `json:"server_version"`
	// ClusterID is a UUID.
	ClusterID string `json:"cluster_id"`
	// HistoryShards is at least 1.
	HistoryShards int32 `json:"history_shards"`
}

func newMeta() meta {
	return meta{ServerVersion: headers.ServerVersion, ClusterID: uuid.NewString(), HistoryShards: historyShards}
}

// readMeta returns the meta of dir's database. The error matches fs.ErrNotExist if there is none.
func readMeta(dir string) (meta, error) {
	path := filepath.Join(dir, metaFile)
	b, err := os.ReadFile(path) //nolint:gosec // the caller's own data directory
	if err != nil {
		return meta{}, fmt.Errorf("reading what is known of the Temporal database: %w", err)
	}
	var m meta
	if err := json.Unmarshal(b, &m); err != nil {
		return meta{}, fmt.Errorf("decoding %s: %w", path, err)
	}
	if err := m.validate(); err != nil {
		return meta{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func (m meta) validate() error {
	switch {
	case m.ServerVersion == "":
		return errors.New("server_version is missing")
	case uuid.Validate(m.ClusterID) != nil:
		return fmt.Errorf("cluster_id %q is not a UUID", m.ClusterID)
	case m.HistoryShards < 1:
		return fmt.Errorf("history_shards is %d", m.HistoryShards)
	}
	return nil
}

// write puts m in place in one step, so that a crash leaves the old file or the new one.
func (m meta) write(dir string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", metaFile, err)
	}
	path := filepath.Join(dir, metaFile)
	if err := writeSynced(path+".tmp", append(b, '\n')); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("putting %s in place: %w", path, err)
	}
	return nil
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // the caller's own data directory
	if err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
