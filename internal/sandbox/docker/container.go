package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"deerflow/internal/sandbox"
	"deerflow/internal/sandbox/pool"
)

// machine is the container of a thread.
type machine struct {
	id string
	// adopted: it is of an earlier process, and whether it is as it should be has not
	// been looked at.
	adopted bool
	// remade: the thread had another one before, and no model has been told.
	remade atomic.Bool
}

// createAttempts is how often it is tried to be the one who makes a container, or to
// find the one that another process has made.
const createAttempts = 4

// stopSeconds is how long a container may take to stop.
const stopSeconds = 2

// up finds the container of a job, or makes it.
func (r *Runner) up(ctx context.Context, j sandbox.Job) (*machine, error) {
	config, host := r.spec(j)
	var err error
	for range createAttempts {
		var m *machine
		if m, err = r.find(ctx, j, config.Labels[labelSpec]); m != nil || err != nil {
			return m, err
		}
		if m, err = r.create(ctx, j, config, host); err == nil {
			return m, nil
		}
		if !errdefs.IsConflict(err) {
			break
		}
		// Another process was quicker, or the engine is still removing one.
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil, err
}

// find gives the container that is there, if it is as it should be; otherwise it is
// removed. Without one it gives nil.
func (r *Runner) find(ctx context.Context, j sandbox.Job, spec string) (*machine, error) {
	name := r.container(j)
	found, err := r.docker.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if errdefs.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("look for container %s: %w", name, err)
	}
	c := found.Container
	if c.Config != nil && c.Config.Labels[labelSpec] == spec && c.State != nil {
		if c.State.Running && !c.State.Paused {
			return &machine{id: c.ID}, nil
		}
		if _, err := r.docker.ContainerStart(ctx, c.ID, client.ContainerStartOptions{}); err == nil {
			m := &machine{id: c.ID}
			m.remade.Store(true) // its processes are gone
			return m, nil
		}
	}
	return nil, r.remove(ctx, c.ID)
}

func (r *Runner) create(ctx context.Context, j sandbox.Job, config *container.Config, host *container.HostConfig) (*machine, error) {
	name := r.container(j)
	options := client.ContainerCreateOptions{Name: name, Config: config, HostConfig: host}
	made, err := r.docker.ContainerCreate(ctx, options)
	if errdefs.IsNotFound(err) {
		if err := r.pull(ctx); err != nil {
			return nil, err
		}
		made, err = r.docker.ContainerCreate(ctx, options)
	}
	if err != nil {
		return nil, fmt.Errorf("make container %s: %w", name, err)
	}
	for _, warning := range made.Warnings {
		r.o.Logger.Warn("The Docker engine warns", "container", name, "warning", warning)
	}
	if _, err := r.docker.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		// It must not stay: its name is taken otherwise.
		if removed := r.remove(context.WithoutCancel(ctx), made.ID); removed != nil {
			r.o.Logger.Warn("A container that does not start could not be removed", "container", name, "error", removed)
		}
		return nil, fmt.Errorf("start container %s: %w", name, err)
	}
	m := &machine{id: made.ID}
	before, err := sandbox.NoteMachine(j, r.Name())
	if err != nil {
		r.o.Logger.Warn("Whether a container is the first of its thread cannot be told", "container", name, "error", err)
	}
	m.remade.Store(before)
	return m, nil
}

// pull gets the image.
func (r *Runner) pull(ctx context.Context) error {
	r.o.Logger.Info("Pulling the image of the sandboxes", "image", r.o.Image)
	progress, err := r.docker.ImagePull(ctx, r.o.Image, client.ImagePullOptions{})
	if err == nil {
		err = progress.Wait(ctx)
		_ = progress.Close()
	}
	if err != nil {
		return fmt.Errorf("pull image %s: %w", r.o.Image, err)
	}
	return nil
}

// spec describes the container of a job.
func (r *Runner) spec(j sandbox.Job) (*container.Config, *container.HostConfig) {
	yes := true
	host := &container.HostConfig{
		NetworkMode: "none", CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, Init: &yes,
		Resources: container.Resources{Memory: r.o.Memory, MemorySwap: r.o.Memory, NanoCPUs: int64(r.o.CPUs * 1e9)},
	}
	if r.o.Network {
		host.NetworkMode = "default"
	}
	if r.o.Processes > 0 {
		host.PidsLimit = &r.o.Processes
	}
	for _, m := range j.Mounts {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: r.engineSide(m.Host), Target: m.Virtual, ReadOnly: m.ReadOnly,
		})
	}
	config := &container.Config{
		Image: r.o.Image, User: r.o.User, WorkingDir: sandbox.Workspace,
		Entrypoint: []string{"/bin/sh", "-c"}, Cmd: []string{"while :; do sleep 3600; done"},
		Env: []string{"HOME=" + sandbox.Workspace, "LANG=C.UTF-8", "TERM=dumb"},
	}
	// Values of a plain struct always encode.
	data, _ := json.Marshal([]any{config, host})
	sum := sha256.Sum256(data)
	config.Labels = map[string]string{labelData: r.data(), labelSpec: hex.EncodeToString(sum[:8])}
	return config, host
}

// engineSide is the engine's path of a directory.
func (r *Runner) engineSide(host string) string {
	if r.o.EngineData == "" {
		return host
	}
	below, err := filepath.Rel(r.o.Data, host)
	if err != nil || below == ".." || strings.HasPrefix(below, "../") {
		return host // a mount of the operator
	}
	return filepath.Join(r.o.EngineData, below)
}

func (r *Runner) container(j sandbox.Job) string { return r.containerOf(j.User, j.Thread) }

func (r *Runner) containerOf(user, threadID string) string {
	return r.o.Prefix + "-" + sandbox.MachineID(user, threadID)
}

// end stops and removes a container. One in which another process runs a command
// stays, unless its thread is deleted.
func (r *Runner) end(ctx context.Context, name string, m *machine, why pool.Reason) (bool, error) {
	if why != pool.Removed {
		found, err := r.docker.ContainerInspect(ctx, m.id, client.ContainerInspectOptions{})
		if errdefs.IsNotFound(err) {
			return true, nil
		}
		if err == nil && len(found.Container.ExecIDs) > 0 {
			return false, nil
		}
	}
	seconds := stopSeconds
	if _, err := r.docker.ContainerStop(ctx, m.id, client.ContainerStopOptions{Timeout: &seconds}); err != nil && !errdefs.IsNotFound(err) {
		r.o.Logger.Warn("A container did not stop; it is killed", "container", name, "error", err)
	}
	return true, r.remove(ctx, m.id)
}

// remove removes a container, running or not. It is no error when it is gone.
func (r *Runner) remove(ctx context.Context, id string) error {
	_, err := r.docker.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove container %s: %w", id, err)
	}
	return nil
}
