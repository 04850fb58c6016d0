package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/model"
	"deerflow/internal/step"
	"deerflow/internal/store"
)

// longestRetryAfter is how long a provider may ask to wait before the wait
// becomes a timer of the workflow, where people see it.
const longestRetryAfter = 60 * time.Second

// border turns an error into what Temporal should do about it: a stop of the
// worker and everything unknown is tried again, a cancel is a cancel, a thread
// that is gone is final.
func border(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), errStopping):
		return temporal.NewApplicationErrorWithOptions(errStopping.Error(), step.ErrHostRestarted,
			temporal.ApplicationErrorOptions{NextRetryDelay: time.Millisecond})
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, store.ErrRunGone):
		return temporal.NewNonRetryableApplicationError(doing+": the run was taken back before it started", step.ErrRunGone, err)
	case errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrThreadGone):
		return temporal.NewNonRetryableApplicationError(doing+": "+err.Error(), step.ErrInvalid, err)
	case errors.Is(err, store.ErrThreadGone):
		return temporal.NewNonRetryableApplicationError(doing+": the thread was deleted", step.ErrThreadGone, err)
	case errors.Is(err, store.ErrUnavailable):
		return temporal.NewNonRetryableApplicationError(doing+": "+err.Error(), step.ErrStoreAway, err)
	case errors.Is(err, store.ErrOvertaken):
		return temporal.NewNonRetryableApplicationError(doing+": "+err.Error(), step.ErrOvertaken, err)
	case errors.Is(err, store.ErrFenced):
		return temporal.NewApplicationErrorWithCause(doing+": another attempt works on it", step.ErrFenced, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// modelError turns a provider's error into an activity error of the one retry
// layer.
func modelError(ctx context.Context, err error) error {
	var me *model.Error
	if !errors.As(err, &me) {
		return border(ctx, "call the model", err)
	}
	if ctx.Err() != nil {
		return border(ctx, "call the model", err)
	}
	failure := step.ModelFailure{Reason: string(me.Class), Message: me.Message, Status: me.Status, RetryAfter: int(me.RetryAfter.Seconds())}
	options := temporal.ApplicationErrorOptions{Cause: nil, Details: []any{failure}}
	kind := step.ErrModel
	attempt := int(activity.GetInfo(ctx).Attempt)
	switch {
	case me.Class == model.ClassContextLength:
		kind, options.NonRetryable = step.ErrContextLength, true
	case me.Retryable && me.RetryAfter > longestRetryAfter:
		kind, options.NonRetryable = step.ErrRateLimited, true
	case !me.Retryable, me.MaxAttempts > 0 && attempt >= me.MaxAttempts:
		options.NonRetryable = true
	case me.RetryAfter > 0:
		options.NextRetryDelay = me.RetryAfter
	}
	return temporal.NewApplicationErrorWithOptions(me.Error(), kind, options)
}
