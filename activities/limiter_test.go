package activities

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"deerflow/internal/model"
)

// held is a model that answers when it is let go.
type held struct {
	began chan string
	let   chan struct{}
}

func (h *held) Chat(ctx context.Context, req model.Request, _ func(model.Delta) error) (*model.Response, error) {
	h.began <- req.Scope
	select {
	case <-h.let:
		return &model.Response{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestTheLimitIsFirstInFirstOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &held{began: make(chan string, 10), let: make(chan struct{})}
		l := limited{h, semaphore.NewWeighted(1)}
		ended := map[string]chan error{}
		call := func(ctx context.Context, name string) {
			done := make(chan error, 1)
			ended[name] = done
			go func() {
				_, err := l.Chat(ctx, model.Request{Scope: name}, nil)
				done <- err
			}()
			synctest.Wait() // it waits, or it has begun
		}
		stopped, stop := context.WithCancel(t.Context())
		call(t.Context(), "a")
		call(stopped, "b")
		call(t.Context(), "c")
		call(t.Context(), "d")
		require.Equal(t, "a", <-h.began)
		require.Empty(t, h.began, "one at a time")

		stop()
		require.ErrorIs(t, <-ended["b"], context.Canceled, "who waits can be stopped")
		h.let <- struct{}{}
		require.NoError(t, <-ended["a"])
		require.Equal(t, "c", <-h.began, "the place of the one that was stopped goes on to the next")
		h.let <- struct{}{}
		require.NoError(t, <-ended["c"])
		require.Equal(t, "d", <-h.began)
		h.let <- struct{}{}
		require.NoError(t, <-ended["d"])
	})
}

// broken is a model whose calls fail.
type broken struct{}

func (broken) Chat(context.Context, model.Request, func(model.Delta) error) (*model.Response, error) {
	return nil, &model.Error{Class: model.ClassBusy, Retryable: true}
}

func TestAFailedCallGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	l := limited{broken{}, semaphore.NewWeighted(1)}
	for range 3 {
		_, err := l.Chat(t.Context(), model.Request{}, nil)
		require.Error(t, err)
	}
	require.True(t, l.places.TryAcquire(1), "while the call waits for its next attempt, another one may be made")
}

func TestTheLimitOfTheConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan, err := w.acts.plan(t.Context(), w.started.PlanHash)
	require.NoError(t, err)
	w.cfg.LLMCall.MaxConcurrentCalls = 1
	first, err := w.acts.chatter(plan)
	require.NoError(t, err)
	require.IsType(t, limited{}, first)
	w.cfg.LLMCall.MaxConcurrentCalls = 9
	w.cfg.Models[0].APIKey = "another"
	second, err := w.acts.chatter(plan)
	require.NoError(t, err)
	require.Same(t, first.(limited).places, second.(limited).places, "all models share the places; their number stays")

	free := newWorld(t)
	plan, err = free.acts.plan(t.Context(), free.started.PlanHash)
	require.NoError(t, err)
	c, err := free.acts.chatter(plan)
	require.NoError(t, err)
	require.IsType(t, &model.Client{}, c, "no limit by default")
}
