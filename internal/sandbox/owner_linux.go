package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// newOwner names a runner of this process, in its namespace of process ids:
// "<namespace>/<pid>/<start time>/<random>".
func newOwner() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		space = "?"
	}
	pid := os.Getpid()
	return fmt.Sprintf("%s/%d/%s/%s", space, pid, startTime(pid), randomHex())
}

// EndStrays kills the commands on this host whose process has gone without
// ending them, as after a kill -9, and tells how many there were. It is meant
// for the start of a process; commands of living processes are left alone.
func EndStrays() int {
	mine := strings.SplitN(newOwner(), "/", 4)
	return endCommands(func(owner string) bool {
		parts := strings.SplitN(owner, "/", 4)
		if len(parts) != 4 || parts[0] != mine[0] {
			return false
		}
		pid, err := strconv.Atoi(parts[1])
		return err == nil && startTime(pid) != parts[2]
	})
}

// endCommands kills the processes that carry an owner's mark.
func endCommands(match func(owner string) bool) int {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return 0
	}
	ended := 0
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if owner, ok := ownerOf(file); ok && match(owner) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			ended++
		}
	}
	return ended
}

// ownerOf reads the mark out of a process's environment.
func ownerOf(file string) (string, bool) {
	env, err := os.ReadFile(file) //nolint:gosec // of /proc
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(ownerVariable+"=")); ok {
			return string(value), true
		}
	}
	return "", false
}

// startTime tells two processes with the same id apart; empty for none.
func startTime(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name may hold spaces and parentheses; the fields behind it do not.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	const startField = 22 - 3
	if len(fields) <= startField {
		return ""
	}
	return string(fields[startField])
}
