package testkit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ConnectedTo reports whether a process has an open connection to a port of the
// loopback address.
func ConnectedTo(pid, port int) bool {
	return holds(pid, sockets(func(_, remote int) bool { return remote == port }))
}

// ConnectedFrom reports whether an open connection with this local port is held
// by the process.
func ConnectedFrom(pid, port int) bool {
	return holds(pid, sockets(func(local, _ int) bool { return local == port }))
}

// holds reports whether a process has one of the sockets open.
func holds(pid int, inodes map[string]bool) bool {
	fds, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	if err != nil {
		return false
	}
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err == nil && inodes[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] {
			return true
		}
	}
	return false
}

// sockets has the inodes of the established connections whose ports match.
func sockets(match func(local, remote int) bool) map[string]bool {
	const established = "01"
	found := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != established {
				continue
			}
			if match(hexPort(fields[1]), hexPort(fields[2])) {
				found[fields[9]] = true
			}
		}
	}
	return found
}

// hexPort is the port of an address as /proc/net/tcp writes it; 0 for a broken
// one.
func hexPort(address string) int {
	_, port, _ := strings.Cut(address, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return 0
	}
	return int(n)
}
