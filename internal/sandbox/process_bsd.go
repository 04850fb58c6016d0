//go:build unix && !linux

package sandbox

import "syscall"

// processAttributes put a command into a session and process group of its own.
// This system has no parent-death signal.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
