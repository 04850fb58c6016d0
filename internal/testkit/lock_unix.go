//go:build unix

package testkit

import (
	"errors"
	"os"
	"syscall"
)

// lockFile waits until this process alone holds the file and returns the
// function that lets it go. The lock ends with the process.
func lockFile(path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}
