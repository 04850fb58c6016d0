//go:build !linux

package testkit

import "syscall"

// dieWithParent returns no attributes: only Linux has a parent-death signal.
func dieWithParent() *syscall.SysProcAttr {
	return nil
}
