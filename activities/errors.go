package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"deerflow/internal/agent"
	"deerflow/internal/model"
	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/store"
)

// longestRetryAfter is how long a provider may ask to wait before the wait
// becomes a timer of the workflow, where people see it.
const longestRetryAfter = 60 * time.Second

// border turns an error into what Temporal should do about it: a stop of the
// worker and everything unknown is tried again, a cancel is a cancel, a thread
// that is gone is final. A sandbox that cannot be had is waited for.
func border(ctx context.Context, doing string, err error) error {
	var away *sandbox.UnreachableError
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
	case errors.As(err, &away):
		return temporal.NewApplicationErrorWithOptions(doing+": "+away.Error(), step.ErrSandboxAway,
			temporal.ApplicationErrorOptions{NextRetryDelay: sandboxPause, Cause: err})
	case errors.Is(err, store.ErrFenced):
		return temporal.NewApplicationErrorWithCause(doing+": another attempt works on it", step.ErrFenced, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// retries are the rules by which the attempts of one call follow each other.
type retries struct {
	model  string // the configured name
	call   string // id of the message that it makes
	policy agent.ModelCallPolicy
}

// most is how many attempts a call has that failed with this error.
func (r retries) most(me *model.Error) int {
	most := int(r.policy.MaxAttempts)
	if me.MaxAttempts > 0 && (most <= 0 || me.MaxAttempts < most) {
		most = me.MaxAttempts
	}
	return most
}

// again reports whether an attempt that failed is followed by another one, and
// after which wait: the provider's own, word for word, or one of ours.
func (r retries) again(err error, attempt int) (time.Duration, bool) {
	var me *model.Error
	if !errors.As(err, &me) || !me.Retryable || me.RetryAfter > longestRetryAfter {
		return 0, false
	}
	if most := r.most(me); most > 0 && attempt >= most {
		return 0, false
	}
	if me.RetryAfter > 0 {
		return me.RetryAfter, true
	}
	return r.policy.ModelDelay(r.call, attempt, me.Class == model.ClassBurstRate), true
}

// modelError turns a provider's error into an activity error of the one retry
// layer.
func modelError(ctx context.Context, r retries, err error) error {
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
	wait, again := r.again(err, int(activity.GetInfo(ctx).Attempt))
	options.NextRetryDelay, options.NonRetryable = wait, !again
	switch {
	case me.Class == model.ClassContextLength:
		kind = step.ErrContextLength
	case me.Class == model.ClassCircuitOpen:
		kind = step.ErrCircuitOpen
	case me.Retryable && me.RetryAfter > longestRetryAfter:
		kind = step.ErrRateLimited
	}
	return temporal.NewApplicationErrorWithOptions(me.Error(), kind, options)
}
