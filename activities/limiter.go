package activities

import (
	"context"

	"golang.org/x/sync/semaphore"

	"deerflow/internal/model"
)

// limited lets a number of model calls of this process run at once; the others
// wait in the order in which they came. A place is held for one attempt: a call
// that waits for its next one holds none. One that is stopped while it waits
// leaves its place to the next.
type limited struct {
	model.Chatter
	places *semaphore.Weighted
}

// Chat makes one attempt when there is a place.
func (l limited) Chat(ctx context.Context, req model.Request, emit func(model.Delta) error) (*model.Response, error) {
	if err := l.places.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer l.places.Release(1)
	return l.Chatter.Chat(ctx, req, emit)
}
