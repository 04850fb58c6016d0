package conversation

import (
	"context"
	"errors"
	"time"

	"deerflow/internal/cli"
)

// Why a conversation was left before its run had ended.
var (
	errInterrupted = errors.New("interrupted")
	errTimedOut    = errors.New("the time limit has passed")
)

// leavable is a context that ends with the first signal, or when the time limit has passed; [context.Cause] says which.
// A second signal ends the process. Call stop when nothing is waited for any more.
func (o *Options) leavable(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-o.Signals:
			}
			if n > 0 {
				o.Exit(int(cli.ExitInterrupted))
				return
			}
			cancel(errInterrupted)
		}
	}()
	release := func() {}
	if o.Timeout > 0 {
		var stopTimer context.CancelFunc
		ctx, stopTimer = context.WithTimeoutCause(ctx, o.Timeout, errTimedOut)
		release = stopTimer
	}
	return ctx, func() {
		close(done)
		release()
		cancel(nil)
	}
}

// left tells whether the conversation was left, and with which exit code.
func left(ctx context.Context) (code cli.ExitCode, cause error) {
	switch cause = context.Cause(ctx); {
	case errors.Is(cause, errTimedOut):
		return cli.ExitTimeout, cause
	case errors.Is(cause, errGone):
		return cli.ExitUnreachable, cause
	case cause != nil:
		return cli.ExitInterrupted, cause
	}
	return cli.ExitDone, nil
}

// lastWords is a context for what has to be done after a conversation was left.
func lastWords(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}
