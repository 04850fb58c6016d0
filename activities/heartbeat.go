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

// stale is the age from which an attempt may have been given up before it began:
// a worker that stood still finds such tasks when it wakes.
const stale = time.Second

// alive keeps the heartbeat going, and ends the context when the worker stops.
// The caller calls done when its work is over. An attempt that has been given up
// already is an error: it must not take the work from the one that has it now.
func alive(parent context.Context) (ctx context.Context, done func(), err error) {
	info := activity.GetInfo(parent)
	beats := info.HeartbeatTimeout > 0
	if beats && time.Since(info.StartedTime) > stale {
		activity.RecordHeartbeat(parent) // the first one is answered before it returns
		if err := parent.Err(); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(parent)
	stopping := activity.GetWorkerStopChannel(parent)
	over := make(chan struct{})
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
	}, nil
}
