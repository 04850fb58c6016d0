package activities

import (
	"context"
	"errors"
	"time"

	"deerflow/internal/store"
)

// Pauses between the tries to store what was done, while the database is away.
const (
	finishPause   = 100 * time.Millisecond
	longestFinish = 2 * time.Second
)

// finish stores what a step has made. An answer that was paid for, or a command
// that has run, is not thrown away because the database is away at its end: it
// is kept, and stored when that is back, for as long as the step may take.
func (a *Activities) finish(ctx context.Context, owner store.Owner, row store.NewRow, rest ...store.NewEvent) (store.Row, error) {
	for pause := finishPause; ; pause = min(2*pause, longestFinish) {
		stored, err := a.o.Store.Finish(ctx, owner, row, rest...)
		if !errors.Is(err, store.ErrUnavailable) {
			return stored, err
		}
		a.o.Logger.Warn("What a step has made waits for the database", "message", owner.MessageID, "error", err)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return stored, ctx.Err()
		case <-timer.C:
		}
	}
}
