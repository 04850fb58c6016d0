package daemon

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/client"

	"deerflow/config"
	"deerflow/internal/step"
	"deerflow/internal/threadclient"
)

// lonelyTimeout bounds a request to a thread while there is no worker: it is
// made all the same, since one may have come a moment ago.
const lonelyTimeout = 1500 * time.Millisecond

// remoteThreads reaches the threads of an outside Temporal, with what is known
// of it at the time of each request.
type remoteThreads struct {
	temporal   client.Client
	config     func() *config.Config
	workers    *crewWatch
	attributes *attributeWatch
}

func (t *remoteThreads) client(ctx context.Context) *threadclient.Client {
	settings := threadSettings(t.config(), t.attributes.present(ctx))
	o := threadclient.Options{Temporal: t.temporal, Settings: func() step.ThreadSettings { return settings }}
	if errors.Is(t.workers.health(ctx), errNoWorker) {
		o.Timeout = lonelyTimeout
	}
	return threadclient.New(o)
}

func (t *remoteThreads) Submit(ctx context.Context, user, threadID string, s step.SubmitRun) (step.SubmitResult, error) {
	return t.client(ctx).Submit(ctx, user, threadID, s)
}

func (t *remoteThreads) Cancel(ctx context.Context, user, threadID, updateID string, r step.CancelRun) (step.CancelResult, error) {
	return t.client(ctx).Cancel(ctx, user, threadID, updateID, r)
}

func (t *remoteThreads) Stop(ctx context.Context, threadID string) error {
	return t.client(ctx).Stop(ctx, threadID)
}

func (t *remoteThreads) UpdateState(ctx context.Context, user, threadID string, u step.UpdateState) (step.UpdateStateResult, error) {
	return t.client(ctx).UpdateState(ctx, user, threadID, u)
}

// Convert waits only while there is a worker that could convert.
func (t *remoteThreads) Convert(ctx context.Context, in step.Conversion) (step.Converted, error) {
	if errors.Is(t.workers.health(ctx), errNoWorker) {
		lonely, cancel := context.WithTimeout(ctx, lonelyTimeout)
		defer cancel()
		ctx = lonely
	}
	return t.client(ctx).Convert(ctx, in)
}

func (t *remoteThreads) Compact(ctx context.Context, user, threadID string, k step.Compact) (step.CompactResult, error) {
	return t.client(ctx).Compact(ctx, user, threadID, k)
}
