package daemon

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"deerflow/api"
	"deerflow/internal/sandbox"
)

// longestEnding bounds what a deletion waits for the machine of its thread.
const longestEnding = 20 * time.Second

// files are those of the threads, for the API.
func (d *Daemon) files() api.Files {
	files := api.NewFiles(filepath.Join(d.dataDir, usersDir))
	if d.boxes == nil {
		return files
	}
	return machineFiles{Files: files, boxes: d.boxes, log: d.log}
}

// machineFiles ends the machine of a thread with its files, where the worker is in this
// process. An API alone cannot: there, a machine ends when it has not been used for long
// enough.
type machineFiles struct {
	api.Files
	boxes sandbox.Provider
	log   *slog.Logger
}

// RemoveThread implements [api.Files]. A machine that cannot be ended does not keep the
// files.
func (f machineFiles) RemoveThread(ctx context.Context, o api.FileOwner) error {
	ending, cancel := context.WithTimeout(ctx, longestEnding)
	defer cancel()
	if err := f.boxes.Remove(ending, o.User, o.Thread); err != nil {
		f.log.Warn("The sandbox of a deleted thread could not be ended", "thread", o.Thread, "error", err)
	}
	return f.Files.RemoveThread(ctx, o)
}
