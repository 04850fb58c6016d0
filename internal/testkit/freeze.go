package testkit

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Freeze stops the process with SIGSTOP: it holds what it holds, its connections
// too, and does nothing until [Part.Thaw]. What it has started goes on.
func (p *Part) Freeze() {
	p.t.Helper()
	sendSignal(p.t, p.Pid(), syscall.SIGSTOP)
	deadline := time.Now().Add(partStop)
	for !stopped(p.Pid()) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s, pid %d, was not stopped within %v", p.name, p.Pid(), partStop)
		}
		time.Sleep(time.Millisecond)
	}
}

// stopped reports whether every thread of a process stands still.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, dir := range threads {
		if p, ok := readProc(dir); ok && p.State != "T" {
			return false
		}
	}
	return true
}

// Thaw lets a frozen process go on where it stood.
func (p *Part) Thaw() {
	p.t.Helper()
	sendSignal(p.t, p.Pid(), syscall.SIGCONT)
}

func sendSignal(t testing.TB, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("send %v to process %d: %v", s, pid, err)
	}
}
