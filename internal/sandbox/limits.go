package sandbox

import (
	"fmt"
	"syscall"
)

// Limits bound what one command may use; 0 is no limit.
type Limits struct {
	CPUSeconds int // processor time of one process
	MemoryMB   int // of all processes of the command together
	Processes  int // at once, threads included
	FileMB     int // size of one file
}

// notice tells the model which limit ended a command, if one did: the kernel ends
// a process that is over its time or its file size by a signal of its own.
func (l Limits) notice(exitCode int) string {
	switch exitCode - 128 {
	case int(syscall.SIGXCPU):
		return fmt.Sprintf("The command was stopped: a process used more than %d seconds of processor time.", l.CPUSeconds)
	case int(syscall.SIGXFSZ):
		return fmt.Sprintf("The command was stopped: a file grew over %d MB.", l.FileMB)
	}
	return ""
}
