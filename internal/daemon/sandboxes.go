package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"

	"deerflow/config"
	"deerflow/internal/sandbox"
)

// openSandboxes makes the provider of the sandboxes and ends what commands of dead
// processes have left on this host.
func (d *Daemon) openSandboxes(ctx context.Context) (sandbox.Provider, error) {
	boxes, err := d.sandboxProvider(ctx)
	if err != nil {
		return nil, err
	}
	d.later(func() {
		if err := boxes.Close(); err != nil {
			d.log.Warn("The sandboxes did not close in order", "error", err)
		}
	})
	if n := sandbox.EndStrays(); n > 0 {
		d.log.Info("Ended commands that a dead process had left", "commands", n)
	}
	return boxes, nil
}

// sandboxProvider makes the provider that the configuration names. Where it names
// none, commands are walled in if this host can do that.
func (d *Daemon) sandboxProvider(ctx context.Context) (sandbox.Provider, error) {
	s := d.Config.Sandbox
	o := sandbox.LocalOptions{
		Root: filepath.Join(d.dataDir, usersDir), AllowHostBash: s.AllowHostBash,
		BashTimeout: s.BashCommandTimeout, Mounts: mounts(d.Config), Logger: d.log,
	}
	switch s.Use {
	case config.SandboxLocal:
	case config.SandboxBubblewrap, "":
		wall, err := sandbox.NewBubblewrap(ctx, sandbox.BubblewrapOptions{
			Network: s.Network, Hide: d.privatePaths(), Logger: d.log,
			Limits: sandbox.Limits{
				CPUSeconds: s.Limits.CPUSeconds, MemoryMB: s.Limits.MemoryMB, Processes: s.Limits.Processes, FileMB: s.Limits.FileSizeMB,
			},
		})
		switch {
		case err == nil:
			o.Runner = wall
			d.log.Info("Commands run walled in by bubblewrap", "network", s.Network)
		case s.Use == "":
			level := slog.LevelWarn
			if runtime.GOOS != "linux" {
				level = slog.LevelDebug // nothing can be done about it
			}
			d.log.Log(ctx, level, "Commands cannot be walled in, so the local sandbox is used", "reason", err, "commands", s.AllowHostBash)
		default:
			return nil, fmt.Errorf("sandbox.use: this host cannot do what the configuration asks for: %w", err)
		}
	default:
		return nil, fmt.Errorf("sandbox.use: the %s sandbox is not available in this version", s.Use)
	}
	return sandbox.NewLocal(o)
}

// privatePaths are the files of this server: its data, its configuration and the
// variables beside it.
func (d *Daemon) privatePaths() []string {
	paths := []string{d.dataDir}
	if file := d.Config.Path; file != "" {
		dir := filepath.Dir(file)
		paths = append(paths, file, filepath.Join(dir, ".env"), filepath.Join(dir, "extensions_config.json"))
	}
	return paths
}
