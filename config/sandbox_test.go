package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSandboxUse(t *testing.T) {
	t.Parallel()
	for _, use := range []string{"local", "deerflow.sandbox.local:LocalSandboxProvider", "src.sandbox.local:LocalSandboxProvider"} {
		c, _ := load(t, "sandbox: {use: '"+use+"'}")
		require.Equal(t, SandboxLocal, c.Sandbox.Use)
	}
	for use, want := range map[string]string{
		"docker": SandboxDocker, "bubblewrap": SandboxBubblewrap, "": "",
		"deerflow.community.aio_sandbox:AioSandboxProvider": SandboxDocker,
	} {
		c, _ := load(t, "sandbox: {use: '"+use+"'}")
		require.Equal(t, want, c.Sandbox.Use)
	}
	tests := map[string]string{
		"deerflow.community.boxlite:BoxliteProvider": `c.yaml:2: sandbox.use: unknown sandbox "deerflow.community.boxlite:BoxliteProvider"; this version has: bubblewrap, docker, local, remote`,
		"locla":      `unknown sandbox "locla"; this version has: bubblewrap, docker, local, remote; did you mean local?`,
		"bubblewarp": "did you mean bubblewrap?",
	}
	for use, want := range tests {
		require.Contains(t, fails(t, "sandbox:\n  use: '"+use+"'\n  image: x\n"), want)
	}
}

func TestSandboxLimits(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "sandbox: {network: true, limits: {memory_mb: 256, processes: 0}}")
	require.True(t, c.Sandbox.Network)
	require.Equal(t, SandboxLimits{CPUSeconds: 3600, MemoryMB: 256, Processes: 0, FileSizeMB: 4096}, c.Sandbox.Limits)
	require.Contains(t, fails(t, "sandbox:\n  limits:\n    processes: -1\n"), "c.yaml:3: sandbox.limits.processes: want at least 0")
	require.Contains(t, fails(t, "sandbox: {limits: {memory_md: 3}}"), "did you mean memory_mb?")
}

// A mount that cannot be shown is told with its line, and is no mistake: it may be there
// where the worker is.
func TestMountThatIsNotThere(t *testing.T) {
	t.Parallel()
	const demo = "models: [{name: d, use: demo}]\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, warnings := load(t, demo+"sandbox:\n  mounts:\n  - {host_path: "+dir+", container_path: /mnt/a}\n  - {host_path: "+dir+"/none, container_path: /mnt/b}\n"+
		"  - host_path: "+file+"\n    container_path: /mnt/c\n")
	require.Equal(t, `c.yaml:5: sandbox.mounts[1].host_path: "`+dir+`/none": no such file or directory: a worker on this machine leaves the mount out
c.yaml:6: sandbox.mounts[2].host_path: "`+file+`": is not a directory: a worker on this machine leaves the mount out`, warnings)
}

func TestSandboxMounts(t *testing.T) {
	t.Parallel()
	c, _ := load(t, "sandbox: {mounts: [{host_path: /home/me/, container_path: /mnt/project/../code, read_only: true}, {host_path: /a, container_path: /mnt/user-data2}]}")
	require.Equal(t, []Mount{{"/home/me", "/mnt/code", true}, {"/a", "/mnt/user-data2", false}}, c.Sandbox.Mounts)

	tests := map[string]struct{ mount, want string }{
		"relative host":      {"{host_path: me, container_path: /mnt/x}", `c.yaml:3: sandbox.mounts[0].host_path: want an absolute path, got "me"`},
		"relative container": {"{host_path: /me, container_path: x}", "sandbox.mounts[0].container_path: want an absolute path"},
		"missing":            {"{host_path: /me}", "sandbox.mounts[0]: container_path is missing"},
		"reserved":           {"{host_path: /me, container_path: /mnt/skills}", "/mnt/skills is reserved"},
		"within reserved":    {"{host_path: /me, container_path: /mnt/user-data/x}", "/mnt/user-data is reserved"},
		"above reserved":     {"{host_path: /me, container_path: /mnt}", "is reserved"},
		"root":               {"{host_path: /me, container_path: /}", "is reserved"},
		"by way of ..":       {"{host_path: /me, container_path: /x/../mnt/skills}", "/mnt/skills is reserved"},
		"unknown key":        {"{host_path: /me, container_path: /x, readonly: true}", "unknown key readonly; did you mean read_only?"},
		"twice":              {"{host_path: /me, container_path: /x}\n  - {host_path: /you, container_path: /x/}", "c.yaml:4: sandbox.mounts[1].container_path is the same as that of sandbox.mounts[0] (line 3)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, fails(t, "sandbox:\n  mounts:\n  - "+tt.mount+"\n"), tt.want)
		})
	}
}
