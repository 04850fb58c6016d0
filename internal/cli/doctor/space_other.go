//go:build !unix || netbsd || solaris || illumos || aix

package doctor

import "errors"

// freeSpace is not known here.
func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }
