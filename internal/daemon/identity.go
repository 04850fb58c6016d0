package daemon

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// workersDir has one file for each worker that works at the same time on a
// host, locked while its process lives.
const workersDir = "workers"

// identity is how Temporal shows a worker.
type identity struct {
	name string
	// sole: no other living process has the name.
	sole bool
}

// hostName is the host's name, cut to what file names may have.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "host"
	}
	return regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(name, "-")
}

// claimIdentity gives this worker the first name of its host that no living
// process has: a worker that replaces a dead one gets that one's, and can fail
// what it had begun. The names stand in the data directory and are random, so
// two hosts never share one. Where files cannot be locked, the name is new each
// time.
func (d *Daemon) claimIdentity() (identity, error) {
	dir := filepath.Join(d.dataDir, workersDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return identity{}, usage("data directory %s cannot be written to: %w", d.dataDir, reasonOf(err))
	}
	host := hostName()
	for n := 1; ; n++ {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d", host, n))
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller's own data directory
		if err != nil {
			return identity{}, usage("data directory %s cannot be written to: %w", d.dataDir, reasonOf(err))
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close() // nothing was written
			continue
		}
		d.later(func() { _ = file.Close() }) // and with it the lock goes
		if err == nil {
			var id string
			if id, err = idIn(file); err == nil {
				return identity{name: "deerflow-worker-" + host + "-" + id, sole: true}, nil
			}
		}
		d.log.Info("Workers in this data directory have a new name at each start", "file", path, "reason", err)
		return identity{name: fmt.Sprintf("deerflow-worker-%s-%d-%s", host, os.Getpid(), newID())}, nil
	}
}

// idIn reads the id in a locked file, or writes a new one.
func idIn(file *os.File) (string, error) {
	data, err := io.ReadAll(io.LimitReader(file, 64))
	if err != nil {
		return "", err
	}
	if id := strings.TrimSpace(string(data)); id != "" {
		return id, nil
	}
	id := newID()
	_, err = file.WriteAt([]byte(id+"\n"), 0)
	return id, err
}

func newID() string { return strings.ToLower(rand.Text()[:10]) }
