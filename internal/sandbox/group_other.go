//go:build !unix

package sandbox

import (
	"os"
	"syscall"
	"time"
)

func processAttributes() *syscall.SysProcAttr { return nil }

// endGroup ends the shell; this system has no process groups.
func endGroup(leader int, ended <-chan struct{}) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
	select {
	case <-ended:
	case <-time.After(time.Second):
	}
}
