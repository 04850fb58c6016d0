//go:build unix

package descriptors

import (
	"os"
	"strconv"
	"syscall"
)

// firstOwn is the first descriptor beside the standard ones.
const firstOwn = 3

// Keep marks every descriptor but the standard three, so that it is closed in the
// programs that this process starts. What is passed to one of them with
// [os/exec.Cmd.ExtraFiles] is passed all the same.
func Keep() {
	if closeOnExec() {
		return
	}
	for _, list := range []string{"/proc/self/fd", "/dev/fd"} {
		entries, err := os.ReadDir(list)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= firstOwn {
				syscall.CloseOnExec(fd)
			}
		}
		return
	}
}
