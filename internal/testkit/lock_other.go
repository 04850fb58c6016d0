//go:build !unix

package testkit

// lockFile does nothing where there are no advisory locks.
func lockFile(string) (func(), error) {
	return func() {}, nil
}
