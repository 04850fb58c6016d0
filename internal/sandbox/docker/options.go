package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"deerflow/internal/sandbox"
	"deerflow/internal/sandbox/pool"
)

// DefaultImage has bash, Python and little else.
const DefaultImage = "python:3.13-slim"

// DefaultPrefix begins the names of containers.
const DefaultPrefix = "deer-flow-sandbox"

// Options configure [New].
type Options struct {
	// Image has a shell, bash if possible; empty means [DefaultImage]. It is pulled
	// when the engine does not have it.
	Image string
	// Prefix begins the names of containers; empty means [DefaultPrefix].
	Prefix string
	// Data is the directory of this host that has the files of all threads.
	// EngineData is the same one as the engine sees it; empty when it sees the same.
	Data, EngineData string
	// Idle is how long a container is kept that nobody uses; 0 means for ever.
	Idle time.Duration
	// Replicas is how many containers there should be; 0 means any number. One in
	// use is never ended for it.
	Replicas int
	// Network gives containers the engine's default network; without it they have
	// none.
	Network bool
	// Memory in bytes, CPUs and Processes bound a container; 0 means no bound.
	Memory    int64
	CPUs      float64
	Processes int64
	// User owns the files and the processes, as "uid:gid"; empty means the user of
	// this process.
	User string
	// Client speaks to the engine; nil means the one that the environment names.
	Client *client.Client
	// Logger gets warnings; nil means slog.Default().
	Logger *slog.Logger
}

// Labels of the containers. The one of the data directory tells containers of one
// installation from those of another.
const (
	labelData = "deerflow.data"
	labelSpec = "deerflow.spec"
)

// pingTimeout bounds the question whether an engine is there.
const pingTimeout = 5 * time.Second

// Runner runs commands in containers.
type Runner struct {
	o      Options
	docker *client.Client
	pool   *pool.Pool[*machine]
}

var _ sandbox.Runner = (*Runner)(nil)

// New makes a runner. It fails when no engine answers. Containers of an earlier
// process are taken over.
func New(ctx context.Context, o Options) (*Runner, error) {
	if o.Image == "" {
		o.Image = DefaultImage
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.User == "" {
		o.User = fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Data == "" {
		return nil, errors.New("docker sandbox: no data directory given")
	}
	var err error
	if o.Data, err = filepath.Abs(o.Data); err != nil {
		return nil, fmt.Errorf("docker sandbox: data directory %q: %w", o.Data, err)
	}
	if o.Client == nil {
		if o.Client, err = client.New(client.FromEnv); err != nil {
			return nil, fmt.Errorf("docker sandbox: %w", err)
		}
	}
	if err := ping(ctx, o.Client); err != nil {
		return nil, err
	}
	r := &Runner{o: o, docker: o.Client}
	r.pool = pool.New(pool.Options[*machine]{Max: o.Replicas, Idle: o.Idle, End: r.end, Logger: o.Logger})
	if err := r.adopt(ctx); err != nil {
		r.pool.Close(ctx)
		return nil, err
	}
	return r, nil
}

// Check reports why the engine that the environment names cannot be used.
func Check(ctx context.Context) error {
	c, err := client.New(client.FromEnv)
	if err != nil {
		return fmt.Errorf("docker sandbox: %w", err)
	}
	return errors.Join(ping(ctx, c), c.Close())
}

func ping(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return fmt.Errorf("docker sandbox: no Docker engine answers at %s (DOCKER_HOST names another one): %w", c.DaemonHost(), err)
	}
	return nil
}

// adopt takes over the containers of earlier processes, so that they end when they
// stay unused.
func (r *Runner) adopt(ctx context.Context) error {
	list, err := r.docker.ContainerList(ctx, client.ContainerListOptions{
		Filters: make(client.Filters).Add("label", labelData+"="+r.data()), All: true,
	})
	if err != nil {
		return fmt.Errorf("docker sandbox: list the containers of earlier processes: %w", err)
	}
	for _, c := range list.Items {
		for _, name := range c.Names {
			name = strings.TrimPrefix(name, "/")
			if strings.HasPrefix(name, r.o.Prefix+"-") && c.State == container.StateRunning {
				r.pool.Adopt(name, &machine{id: c.ID, adopted: true})
			}
		}
	}
	return nil
}

// data stands for the data directory in labels.
func (r *Runner) data() string {
	sum := sha256.Sum256([]byte(r.o.Data))
	return hex.EncodeToString(sum[:8])
}

// Name is "docker".
func (*Runner) Name() string { return "docker" }

// HostPaths is false: containers show the mounts where they claim to be.
func (*Runner) HostPaths() bool { return false }

// Notes say what a container of one's own means.
func (r *Runner) Notes() string {
	notes := "- Commands run in a container of this conversation's own. `/mnt/user-data` is kept; the rest, installed packages and background processes included, is kept between commands and lost when the container has not been used for a while."
	if !r.o.Network {
		notes += "\n- Commands have no network: nothing can be downloaded or installed from there."
	}
	return notes
}
