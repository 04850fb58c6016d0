package sandbox

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// sealedCopy copies a program into memory, where nobody can change it. Inside, the
// program of the first process is at hand as /proc/1/exe, on a mount of the host:
// root, who may write to it, could put something else in its place.
func sealedCopy(program string) (*os.File, error) {
	from, err := os.Open(program) //nolint:gosec // found on the PATH
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	fd, err := unix.MemfdCreate("bwrap", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	to := os.NewFile(uintptr(fd), program)
	_, err = io.Copy(to, from)
	if err == nil {
		_, err = unix.FcntlInt(to.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		_ = to.Close()
		return nil, fmt.Errorf("copy %s: %w", program, err)
	}
	return to, nil
}
