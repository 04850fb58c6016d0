package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// holdsConnection reports whether a process has an open connection to a loopback
// server.
func holdsConnection(t *testing.T, pid int, server string) bool {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	sockets := socketsTo(t, port)
	fds, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	require.NoError(t, err)
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err == nil && sockets[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] {
			return true
		}
	}
	return false
}

// socketsTo has the inodes of the established connections to a port.
func socketsTo(t *testing.T, port int) map[string]bool {
	t.Helper()
	const established = "01"
	data, err := os.ReadFile("/proc/net/tcp")
	require.NoError(t, err)
	found := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != established {
			continue
		}
		_, hex, _ := strings.Cut(fields[2], ":")
		if n, err := strconv.ParseUint(hex, 16, 32); err == nil && int(n) == port {
			found[fields[9]] = true
		}
	}
	return found
}
