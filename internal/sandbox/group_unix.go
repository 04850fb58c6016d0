//go:build unix

package sandbox

import (
	"errors"
	"syscall"
	"time"
)

// endGroup ends a process group: TERM, and KILL when anything of it is left
// after 100 ms. It returns when the leader has been reaped and the group is
// empty, a second later at most.
func endGroup(leader int, ended <-chan struct{}) {
	_ = syscall.Kill(-leader, syscall.SIGTERM)
	if !waitGroup(leader, ended, killDelay) {
		_ = syscall.Kill(-leader, syscall.SIGKILL)
		waitGroup(leader, ended, time.Second)
	}
}

// waitGroup waits until the group is empty.
func waitGroup(leader int, ended <-chan struct{}, limit time.Duration) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	select {
	case <-ended:
	case <-deadline.C:
		return false
	}
	for {
		reapOrphans(leader)
		if errors.Is(syscall.Kill(-leader, 0), syscall.ESRCH) {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
}

// reapOrphans takes away members of the group that became children of this
// process, which happens when it is the first one of a container. The leader is
// gone by then, so no wait of package os is disturbed.
func reapOrphans(leader int) {
	for {
		pid, err := syscall.Wait4(-leader, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}
