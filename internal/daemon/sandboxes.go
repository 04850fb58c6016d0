package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"

	"deerflow/config"
	"deerflow/internal/sandbox"
	"deerflow/internal/sandbox/docker"
	"deerflow/internal/sandbox/remote"
)

// openSandboxes makes the provider of the sandboxes and ends what commands of dead
// processes have left on this host.
func (d *Daemon) openSandboxes(ctx context.Context) (sandbox.Provider, error) {
	boxes, err := d.sandboxProvider(ctx)
	if err != nil {
		return nil, err
	}
	d.boxes = boxes
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
		Environ: environment(d.Config),
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
			if !s.AllowHostBash {
				d.CommandsOff = err.Error()
			}
			level := slog.LevelWarn
			if runtime.GOOS != "linux" {
				level = slog.LevelDebug // nothing can be done about it
			}
			d.log.Log(ctx, level, "Commands cannot be walled in, so the local sandbox is used", "reason", err, "commands", s.AllowHostBash)
		default:
			return nil, fmt.Errorf("sandbox.use: this host cannot do what the configuration asks for: %w", err)
		}
	case config.SandboxDocker:
		engine, err := d.dockerRunner(ctx, o.Root)
		if err != nil {
			return nil, fmt.Errorf("sandbox.use: this host cannot do what the configuration asks for: %w", err)
		}
		o.Runner = engine
	case config.SandboxRemote:
		return remote.New(remote.Options{
			BaseURL: s.BaseURL, APIKey: s.APIKey.Reveal(), ProvisionerURL: s.ProvisionerURL, ProvisionerKey: s.ProvisionerAPIKey.Reveal(),
			Mounted: s.ThreadDataMounts, Idle: s.IdleTimeout, Replicas: s.Replicas, Logger: d.log,
		}, o)
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

// hostBaseVariable is the data directory as the Docker engine sees it.
const hostBaseVariable = "DEER_FLOW_HOST_BASE_DIR"

// dockerRunner makes the runner of containers over the files below root.
func (d *Daemon) dockerRunner(ctx context.Context, root string) (sandbox.Runner, error) {
	s := d.Config.Sandbox
	base, _ := d.Config.Getenv(hostBaseVariable)
	if base = cmp.Or(s.HostBaseDir, base); base != "" {
		base = filepath.Join(base, usersDir)
	}
	return docker.New(ctx, docker.Options{
		Image: s.Image, Prefix: s.ContainerPrefix, Data: root, EngineData: base, Idle: s.IdleTimeout, Replicas: s.Replicas,
		Network: s.Network, Memory: int64(s.Limits.MemoryMB) << 20, CPUs: s.CPUs, Processes: int64(s.Limits.Processes), Logger: d.log,
	})
}

// environment is set in every command.
func environment(c *config.Config) map[string]string {
	env := make(map[string]string, len(c.Sandbox.Environment))
	for name, value := range c.Sandbox.Environment {
		env[name] = value.Reveal()
	}
	return env
}
