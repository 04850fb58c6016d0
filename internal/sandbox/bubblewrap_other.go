//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

// NewBubblewrap fails: bubblewrap is made of what only Linux has.
func NewBubblewrap(context.Context, BubblewrapOptions) (Runner, error) {
	return nil, errors.New("bubblewrap works on Linux only")
}
