package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSandboxUse(t *testing.T) {
	t.Parallel()
	for _, use := range []string{"local", "deerflow.sandbox.local:LocalSandboxProvider", "src.sandbox.local:LocalSandboxProvider"} {
		c, _ := load(t, "sandbox: {use: '"+use+"'}")
		require.Equal(t, SandboxLocal, c.Sandbox.Use)
	}
	tests := map[string]string{
		"docker":     "c.yaml:2: sandbox.use: the docker sandbox is not available in this version; use: local",
		"bubblewrap": "the bubblewrap sandbox is not available",
		"remote":     "the remote sandbox is not available",
		"deerflow.community.aio_sandbox:AioSandboxProvider": "the docker sandbox is not available",
		"deerflow.community.boxlite:BoxliteProvider":        `unknown sandbox "deerflow.community.boxlite:BoxliteProvider"; this version has: local`,
		"locla": `unknown sandbox "locla"; this version has: local; did you mean local?`,
	}
	for use, want := range tests {
		require.Contains(t, fails(t, "sandbox:\n  use: '"+use+"'\n  image: x\n"), want)
	}
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
