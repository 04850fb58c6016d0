package documents

import (
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of the process that converts a document.
const (
	softMemory  = 1 << 30 // bytes; from here on memory is reclaimed eagerly
	hardMemory  = 2 << 30 // bytes; here the process ends
	largestFile = 1 << 30 // bytes of a temporary file
)

// inOwnGroup lets the child, and what it starts, be ended together. It dies with
// this process.
func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			return os.ErrProcessDone
		}
		return nil
	}
}

// limitSelf bounds what this process may use. What cannot be set is left as it
// is: the caller's timeout holds in any case.
func limitSelf(timeout time.Duration) {
	debug.SetMemoryLimit(softMemory)
	seconds := uint64(max(timeout, 0)/time.Second) + 1
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_DATA: hardMemory, unix.RLIMIT_CPU: 2 * seconds, unix.RLIMIT_FSIZE: largestFile, unix.RLIMIT_CORE: 0,
	} {
		_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit})
	}
}
