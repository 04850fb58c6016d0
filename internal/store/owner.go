package store

import (
	"context"
	"errors"
	"fmt"
)

// ThreadOwner is the user whose thread it is; an [ErrNotFound] if there is no
// such thread.
func (s *Store) ThreadOwner(ctx context.Context, threadID string) (string, error) {
	var user string
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		user, err = ownerOf(ctx, q, threadID)
		return err
	})
	if errors.Is(err, ErrThreadGone) {
		err = fmt.Errorf("there is none: %w", ErrNotFound)
	}
	return user, wrap(err, "find the owner of thread %q", threadID)
}
