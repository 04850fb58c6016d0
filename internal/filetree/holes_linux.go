package filetree

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nextData finds the next part of a file, at or behind a position, that is no hole.
func nextData(f *os.File, at, size int64) (begin, end int64, err error) {
	begin, err = f.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return size, size, nil // nothing but a hole
	case errors.Is(err, syscall.EINVAL):
		return at, size, nil // the file system knows no holes
	case err != nil:
		return 0, 0, err
	}
	end, err = f.Seek(begin, unix.SEEK_HOLE)
	return min(begin, size), min(end, size), err
}
