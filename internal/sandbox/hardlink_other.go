//go:build !unix

package sandbox

import "io/fs"

type fileID struct{}

// linkCount: the names of a file are not counted on this system.
func linkCount(fs.FileInfo) (fileID, uint64) { return fileID{}, 1 }
