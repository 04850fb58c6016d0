package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// The providers of a sandbox.
const (
	SandboxLocal      = "local"      // commands run on this machine, if allowed
	SandboxBubblewrap = "bubblewrap" // commands run on this machine, walled in
	SandboxDocker     = "docker"     // commands run in a container for each thread
	SandboxRemote     = "remote"     // files and commands are on another machine
)

// Sandbox says where tools run and bounds what they return.
type Sandbox struct {
	// Use is the provider: local, bubblewrap, docker or remote. When it is not set,
	// it is bubblewrap where that works and local elsewhere. DeerFlow's class path
	// of the same provider is accepted and replaced by the short name.
	Use string `yaml:"use"`
	// AllowHostBash lets bash run on this machine with no wall around it (false).
	// Without it the local provider offers no bash at all; others do not ask.
	AllowHostBash bool `yaml:"allow_host_bash"`
	// BashOutputMaxChars, ReadFileOutputMaxChars and LsOutputMaxChars bound a
	// tool's output in code points (20000, 50000, 20000); 0 turns the bound off.
	BashOutputMaxChars     int `yaml:"bash_output_max_chars" conf:"min=0"`
	ReadFileOutputMaxChars int `yaml:"read_file_output_max_chars" conf:"min=0"`
	LsOutputMaxChars       int `yaml:"ls_output_max_chars" conf:"min=0"`
	// BashCommandTimeout ends a command with its process group (600 s).
	BashCommandTimeout time.Duration `yaml:"bash_command_timeout" conf:"min=0.001"`
	// Mounts are further directories that the tools see.
	Mounts []Mount `yaml:"mounts,omitempty"`
	// Network gives walled-in commands the network of this machine, its loopback
	// services included (false: they have none).
	Network bool `yaml:"network"`
	// Limits bound what one walled-in command may use, and the container of a thread.
	Limits SandboxLimits `yaml:"limits"`
	// Environment is set in every command.
	Environment map[string]Secret `yaml:"environment,omitempty"`

	// Image has what commands need: any image with a shell (python:3.13-slim). It is
	// pulled when the Docker engine does not have it. ContainerPrefix begins the
	// names of the containers (deer-flow-sandbox).
	Image           string `yaml:"image"`
	ContainerPrefix string `yaml:"container_prefix"`
	// CPUs are the processors that the container of a thread may use (0: all).
	CPUs float64 `yaml:"cpus" conf:"min=0"`
	// HostBaseDir is the data directory as the Docker engine sees it, where that is
	// another path than the worker's. The environment variable
	// DEER_FLOW_HOST_BASE_DIR says the same.
	HostBaseDir string `yaml:"host_base_dir,omitempty"`

	// IdleTimeout ends the container, or the provisioned machine, of a thread that
	// nobody has used for so long (600 s; 0: never). Replicas is how many there should
	// be (3; 0: any number): the one unused for longest makes room, one in use never.
	IdleTimeout time.Duration `yaml:"idle_timeout" conf:"min=0"`
	Replicas    int           `yaml:"replicas" conf:"min=0"`

	// BaseURL is where the machine of the remote provider answers; with
	// "{sandbox_id}" in it, every thread has one of its own. APIKey is sent to it.
	BaseURL string `yaml:"base_url,omitempty"`
	APIKey  Secret `yaml:"api_key,omitempty"`
	// ProvisionerURL makes a machine for each thread instead, with its key.
	ProvisionerURL    string `yaml:"provisioner_url,omitempty"`
	ProvisionerAPIKey Secret `yaml:"provisioner_api_key,omitempty"`
	// ThreadDataMounts: remote machines show the data directory themselves, so no
	// file is copied to and fro (false).
	ThreadDataMounts bool `yaml:"thread_data_mounts"`
}

// SandboxLimits bound one command; 0 is no limit.
type SandboxLimits struct {
	CPUSeconds int `yaml:"cpu_seconds" conf:"min=0"`               // processor time of one process (3600)
	MemoryMB   int `yaml:"memory_mb" conf:"min=0,max=16777216"`    // memory of all its processes together (4096)
	Processes  int `yaml:"processes" conf:"min=0"`                 // processes and threads at once (512)
	FileSizeMB int `yaml:"file_size_mb" conf:"min=0,max=16777216"` // size of one file (4096)
}

// Mount shows a directory of this machine to the tools.
type Mount struct {
	HostPath      string `yaml:"host_path" conf:"required"`      // absolute
	ContainerPath string `yaml:"container_path" conf:"required"` // absolute, outside the reserved roots
	ReadOnly      bool   `yaml:"read_only"`                      // tools cannot write there (false)
}

// unusedKeys are DeerFlow's settings that nothing here needs: no port is published,
// ownership follows from names, and providers of other services are not there.
func (*Sandbox) unusedKeys() []string {
	return []string{
		"port", "ownership", "lazy_init", "auto_start", "template", "domain", "home_dir", "memory_mib", "memory_mb",
		"cpu_cores", "project_id", "workspace_id", "max_duration", "sticky", "health_check_skip_seconds",
		"overflow_policy", "acquire_timeout", "burst_limit",
	}
}

// sandboxNames are the providers by name, each with the class names that
// DeerFlow's files use for it.
func sandboxNames() map[string][]string {
	return map[string][]string{
		SandboxLocal:      {"LocalSandboxProvider"},
		SandboxBubblewrap: nil,
		SandboxDocker:     {"AioSandboxProvider"},
		SandboxRemote:     {"RemoteSandboxProvider"},
	}
}

func (d *decoder) finishSandbox(s *Sandbox) {
	name := sandboxName(s.Use)
	if name == "" && s.Use != "" {
		names := slices.Sorted(maps.Keys(sandboxNames()))
		d.errorf(d.line("sandbox", "use"), "sandbox.use: unknown sandbox %s; this version has: %s%s",
			d.given("sandbox.use", s.Use), strings.Join(names, ", "), didYouMean(s.Use, names))
	}
	if name == SandboxDocker && s.Use != SandboxDocker && (s.BaseURL != "" || s.ProvisionerURL != "") {
		name = SandboxRemote // one class of DeerFlow's is both
	}
	s.Use = name
	d.checkMachines(s)
	seen := map[string]string{}
	for i := range s.Mounts {
		d.checkMount(&s.Mounts[i], index("sandbox.mounts", i), seen)
	}
}

func sandboxName(use string) string {
	class := use
	if _, after, ok := strings.Cut(use, ":"); ok {
		class = after
	}
	for name, classes := range sandboxNames() {
		if use == name {
			return name
		}
		for _, c := range classes {
			if class == c {
				return name
			}
		}
	}
	return ""
}

func (d *decoder) checkMount(m *Mount, at string, seen map[string]string) {
	for _, side := range []struct {
		key   string
		value *string
	}{{"host_path", &m.HostPath}, {"container_path", &m.ContainerPath}} {
		if *side.value == "" {
			continue // missing: already reported
		}
		if !path.IsAbs(*side.value) {
			d.errorf(d.line(at, side.key), "%s.%s: want an absolute path, got %s",
				at, side.key, d.given(at+"."+side.key, *side.value))
			return
		}
		*side.value = path.Clean(*side.value)
	}
	line := d.line(at, "container_path")
	for _, root := range []string{"/mnt/user-data", "/mnt/skills", "/mnt/acp-workspace"} {
		if within(m.ContainerPath, root) || within(root, m.ContainerPath) && m.ContainerPath != "" {
			d.errorf(line, "%s.container_path: %s is reserved; choose a path such as /mnt/project", at, root)
			return
		}
	}
	if first, ok := seen[m.ContainerPath]; ok {
		d.errorf(line, "%s.container_path is the same as that of %s (line %d)", at, first, d.line(first, "container_path"))
	}
	seen[m.ContainerPath] = at
	if m.HostPath == "" {
		return
	}
	if reason := noDirectory(m.HostPath); reason != "" {
		key := at + ".host_path"
		d.warnf(d.line(at, "host_path"), "%s: %s: %s: a worker on this machine leaves the mount out", key, d.given(key, m.HostPath), reason)
	}
}

// noDirectory says why a path is no directory; empty when it is one.
func noDirectory(path string) string {
	info, err := os.Stat(path)
	var known *fs.PathError
	switch {
	case errors.As(err, &known):
		return known.Err.Error()
	case err != nil:
		return err.Error()
	case !info.IsDir():
		return "is not a directory"
	}
	return ""
}

// within reports whether the clean path p is dir or lies below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
