//go:build !linux

package filetree

import "os"

// nextData takes the whole file for data.
func nextData(_ *os.File, at, size int64) (begin, end int64, err error) { return at, size, nil }
