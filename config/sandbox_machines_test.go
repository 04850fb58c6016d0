package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSandboxMachines(t *testing.T) {
	t.Parallel()
	c, _ := load(t, `
sandbox:
  use: docker
  image: debian:13
  container_prefix: mine
  cpus: 1.5
  idle_timeout: 0
  replicas: 5
  host_base_dir: /srv/deerflow
  environment: {LANG: de_DE.UTF-8, TOKEN: s3cret}
`)
	require.Equal(t, "debian:13", c.Sandbox.Image)
	require.Equal(t, "mine", c.Sandbox.ContainerPrefix)
	require.InDelta(t, 1.5, c.Sandbox.CPUs, 0)
	require.Equal(t, time.Duration(0), c.Sandbox.IdleTimeout)
	require.Equal(t, 5, c.Sandbox.Replicas)
	require.Equal(t, map[string]Secret{"LANG": "de_DE.UTF-8", "TOKEN": "s3cret"}, c.Sandbox.Environment)

	c, _ = load(t, "sandbox: {use: remote, base_url: 'http://box-{sandbox_id}:8080', api_key: k, thread_data_mounts: true}")
	require.Equal(t, SandboxRemote, c.Sandbox.Use)
	require.Equal(t, Secret("k"), c.Sandbox.APIKey)
	require.True(t, c.Sandbox.ThreadDataMounts)
}

// DeerFlow has one class for containers and for a provisioner.
func TestAioSandbox(t *testing.T) {
	t.Parallel()
	const class = "sandbox: {use: 'deerflow.community.aio_sandbox:AioSandboxProvider', port: 8080"
	for more, want := range map[string]string{
		"}": SandboxDocker,
		", provisioner_url: 'http://p:8002', provisioner_api_key: k}": SandboxRemote,
		", base_url: 'http://localhost:8080'}":                        SandboxRemote,
	} {
		c, _ := load(t, class+more)
		require.Equal(t, want, c.Sandbox.Use, more)
	}
	c, _ := load(t, "sandbox: {use: docker, base_url: 'http://localhost:8080'}")
	require.Equal(t, SandboxDocker, c.Sandbox.Use, "the short name means what it says")
}

func TestSandboxMachinesThatCannotBe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"sandbox:\n  use: remote\n": "c.yaml:2: sandbox.use: remote needs sandbox.base_url",
		"sandbox:\n  use: remote\n  base_url: http://a\n  provisioner_url: http://b\n": "c.yaml:4: sandbox.provisioner_url: sandbox.base_url is given too",
		"sandbox:\n  use: remote\n  provisioner_url: http://b\n":                       "c.yaml:3: sandbox.provisioner_api_key is missing",
		"sandbox:\n  base_url: host:8080\n":                                            "c.yaml:2: sandbox.base_url: want an address such as http://host:8080",
		"sandbox:\n  provisioner_url: ftp://x\n":                                       "c.yaml:2: sandbox.provisioner_url: want an address",
		"sandbox:\n  container_prefix: 'a b'\n":                                        "c.yaml:2: sandbox.container_prefix: want letters",
		"sandbox:\n  host_base_dir: data\n":                                            "c.yaml:2: sandbox.host_base_dir: want an absolute path",
		"sandbox:\n  environment:\n    A-B: x\n":                                       `c.yaml:3: sandbox.environment: "A-B" is no name of a variable`,
		"sandbox:\n  replicas: -1\n":                                                   "sandbox.replicas",
		"sandbox:\n  idle_timeout: -1\n":                                               "sandbox.idle_timeout",
	} {
		require.Contains(t, fails(t, text), want)
	}
}
