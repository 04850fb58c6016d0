package testkit

import "syscall"

// dieWithParent asks the kernel to kill the process when its parent ends. It
// also gets a process group of its own, so that an interrupt from the terminal
// reaches only the tests.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
