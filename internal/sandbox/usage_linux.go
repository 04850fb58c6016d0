package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// use is what the processes of a namespace use together.
type use struct {
	processes int   // threads included
	memory    int64 // bytes that belong to one of them alone
}

// exceeded tells which limit was passed; empty for none. full: the namespace has been
// full for a while.
func (l Limits) exceeded(u use, full bool) string {
	switch {
	case full || l.Processes > 0 && u.processes > l.Processes:
		return fmt.Sprintf("The command was stopped: it wanted more than %d processes.", l.Processes)
	case l.MemoryMB > 0 && u.memory > int64(l.MemoryMB)<<20:
		return fmt.Sprintf("The command was stopped: it used more than %d MB of memory.", l.MemoryMB)
	}
	return ""
}

// notice tells the model which limit ended a command, if one did: the kernel ends
// a process that is over its time or its file size by a signal of its own.
func (l Limits) notice(exitCode int) string {
	switch exitCode - 128 {
	case int(syscall.SIGXCPU):
		return fmt.Sprintf("The command was stopped: a process used more than %d seconds of processor time.", l.CPUSeconds)
	case int(syscall.SIGXFSZ):
		return fmt.Sprintf("The command was stopped: a file grew over %d MB.", l.FileMB)
	}
	return ""
}

// countUse adds up the processes that the proc file system of a namespace shows.
// Above most of them it counts no further; 0 is no such bound. What cannot be read is
// nothing, and so is the proc of this host, which a namespace has until it is ready.
func countUse(proc string, most int) use {
	var u use
	dir, err := os.Open(proc) //nolint:gosec // of /proc
	if err != nil {
		return u
	}
	defer func() { _ = dir.Close() }()
	var here, there unix.Stat_t
	if unix.Stat("/proc", &here) != nil || unix.Fstat(int(dir.Fd()), &there) != nil || here.Dev == there.Dev {
		return u
	}
	names, _ := dir.Readdirnames(-1)
	var pids []string
	for _, name := range names {
		if _, err := strconv.Atoi(name); err == nil {
			pids = append(pids, name)
		}
	}
	if most > 0 && len(pids) > most {
		return use{processes: len(pids)}
	}
	for _, pid := range pids {
		status, err := os.ReadFile(filepath.Join(proc, pid, "status")) //nolint:gosec // of /proc
		if err != nil {
			continue // it has ended
		}
		u.processes += int(max(field(status, "Threads:"), 1))
		u.memory += (field(status, "RssAnon:") + field(status, "RssShmem:")) << 10
	}
	return u
}

// field is the number behind a name.
func field(status []byte, name string) int64 {
	_, rest, ok := bytes.Cut(status, []byte("\n"+name))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	words := bytes.Fields(line)
	if len(words) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(string(words[0]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
