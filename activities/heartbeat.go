package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
)

// beat is how often a running activity says that it lives. It comes from a
// ticker: a model that thinks sends nothing for a long time.
const beat = time.Second

// errStopping is the cause of a context that ended because the worker stops.
var errStopping = errors.New("the worker is being stopped; the step is run again elsewhere")

// alive keeps the heartbeat going, and ends the context when the worker stops.
// The caller calls done when its work is over.
func alive(parent context.Context) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(parent)
	stopping := activity.GetWorkerStopChannel(parent)
	over := make(chan struct{})
	beats := activity.GetInfo(parent).HeartbeatTimeout > 0
	go func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-stopping:
				cancel(errStopping)
				stopping = nil
			case <-ticker.C:
				if beats {
					activity.RecordHeartbeat(parent)
				}
			}
		}
	}()
	return ctx, func() {
		close(over)
		cancel(nil)
	}
}
