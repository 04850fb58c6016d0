package doctor

import (
	"context"
	"fmt"
	"os"

	"deerflow/config"
	"deerflow/internal/sandbox"
	"deerflow/internal/sandbox/docker"
	"deerflow/internal/sandbox/remote"
)

// wallFix is what to do where commands cannot be walled in.
const wallFix = "install the package bubblewrap and allow user namespaces (docs/sandboxes.md), or set sandbox.use to another sandbox"

// sandbox tells where commands run. Whether they can be walled in is tried out.
func (e *exam) sandbox(ctx context.Context) []Check {
	c := Check{Name: "sandbox", Status: Skip, Detail: "the configuration cannot be read"}
	if e.config == nil {
		return []Check{c}
	}
	s := e.config.Sandbox
	switch s.Use {
	case config.SandboxLocal:
		return []Check{unwalled(c, s)}
	case config.SandboxDocker, config.SandboxRemote:
		return []Check{away(ctx, c, s)}
	}
	err := tryWall(ctx, s.Network)
	switch {
	case err == nil:
		c.Status, c.Detail = OK, "bubblewrap: commands run walled in, without network"
		if s.Network {
			c.Detail = "bubblewrap: commands run walled in, with the network of this machine"
		}
	case s.Use == "":
		c = unwalled(c, s)
		c.Status, c.Detail = Warn, fmt.Sprintf("%s; %v", c.Detail, err)
		c.Fix = wallFix
	default:
		c.Status, c.Detail, c.Fix = Fail, err.Error(), wallFix
	}
	return []Check{c}
}

// unwalled is the check of a sandbox that is not bubblewrap; where the configuration
// names none it is the local one.
func unwalled(c Check, s config.Sandbox) Check {
	c.Status = OK
	switch {
	case !s.AllowHostBash:
		c.Detail = "local: no shell commands (sandbox.allow_host_bash is false)"
	default:
		c.Detail = "local: the model may run shell commands on this machine, as the user who runs the server"
		if os.Geteuid() == 0 {
			c.Status, c.Fix = Warn, "that user is root now: run the server as another one, or use a sandbox with a wall (docs/sandboxes.md)"
		}
	}
	return c
}

// away is the check of a sandbox whose commands run elsewhere: whether somebody is
// there to run them.
func away(ctx context.Context, c Check, s config.Sandbox) Check {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var err error
	if s.Use == config.SandboxDocker {
		c.Detail, c.Fix = "docker: commands run in containers of "+s.Image, "start a Docker engine, or name it in DOCKER_HOST"
		err = docker.Check(ctx)
	} else {
		c.Detail, c.Fix = "remote: commands run on other machines", "start it, or mend sandbox.base_url or sandbox.provisioner_url and its key"
		err = remote.Check(ctx, remote.Options{
			BaseURL: s.BaseURL, APIKey: s.APIKey.Reveal(), ProvisionerURL: s.ProvisionerURL, ProvisionerKey: s.ProvisionerAPIKey.Reveal(),
		})
	}
	if err != nil {
		c.Status, c.Detail = Fail, err.Error()
		return c
	}
	c.Status, c.Fix = OK, ""
	return c
}

// tryWall runs a command walled in.
func tryWall(ctx context.Context, network bool) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	wall, err := sandbox.NewBubblewrap(ctx, sandbox.BubblewrapOptions{Network: network})
	if err != nil {
		return err
	}
	return wall.Close()
}
