package devserver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const lockFile = "temporal.lock"

// dirLock is the exclusive right to a data directory. The system drops it when the process ends, however it ends; the
// file stays, since removing it would let two processes lock two files of the same name.
type dirLock struct {
	file *os.File
}

// lockDir takes the lock of dir without waiting. It returns a [*LockedError] if somebody has it.
func lockDir(dir string) (*dirLock, error) {
	path := filepath.Join(dir, lockFile)
	// Close-on-exec is the default here, so the commands that tools start do not inherit the lock.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the caller's own data directory
	if err != nil {
		return nil, fmt.Errorf("opening the lock file of the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close() //nolint:errcheck // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{Dir: dir, PID: readPID(f)}
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	// The process id is a courtesy to whoever comes second; without it the lock still works.
	if err := writePID(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("writing the process id to %s: %w", path, err)
	}
	return &dirLock{file: f}, nil
}

// release gives the directory back. The process id is left in the file; it means nothing without the lock.
func (l *dirLock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("releasing %s: %w", l.file.Name(), err)
	}
	return nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readPID returns 0 for a file that holds no process id, as in the moment before its owner has written it.
func readPID(f *os.File) int {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
