package sandbox

import "syscall"

// processAttributes put a command into a session and process group of its own
// and let it die with the thread that started it.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
