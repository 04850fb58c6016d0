//go:build unix && !netbsd && !solaris && !illumos && !aix

package doctor

import "golang.org/x/sys/unix"

// freeSpace is how many bytes of the file system at dir can be written by everybody.
func freeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil //nolint:gosec,unconvert // signed on some systems, never negative
}
