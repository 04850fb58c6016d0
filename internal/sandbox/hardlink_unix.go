//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

// fileID is equal for two names of one file.
type fileID struct{ device, inode uint64 }

// linkCount gives the identity of a file and how many names it has.
func linkCount(info fs.FileInfo) (fileID, uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, 1
	}
	return fileID{device: uint64(st.Dev), inode: st.Ino}, uint64(st.Nlink) //nolint:unconvert // types differ between systems
}
