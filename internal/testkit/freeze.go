package testkit

import (
	"syscall"
	"testing"
)

// Freeze stops the process with SIGSTOP: it holds what it holds, its connections
// too, and does nothing until [Part.Thaw]. What it has started goes on.
func (p *Part) Freeze() {
	p.t.Helper()
	sendSignal(p.t, p.Pid(), syscall.SIGSTOP)
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
