package api

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMemoLoadsOnce(t *testing.T) {
	t.Parallel()
	m := newMemo[string, int](100)
	var loads atomic.Int32
	gate := make(chan struct{})
	load := func(context.Context) (int, int, error) {
		<-gate
		return int(loads.Add(1)), 10, nil
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			v, err := m.get(t.Context(), "k", load)
			if err != nil || v != 1 {
				t.Errorf("got %d, %v", v, err)
			}
		})
	}
	close(gate)
	wg.Wait()
	require.EqualValues(t, 1, loads.Load())
}

func TestMemoForgetsErrorsAndPanics(t *testing.T) {
	t.Parallel()
	m := newMemo[string, int](100)
	_, err := m.get(t.Context(), "k", func(context.Context) (int, int, error) { return 0, 0, errors.New("no") })
	require.Error(t, err)
	require.Panics(t, func() {
		_, _ = m.get(t.Context(), "k", func(context.Context) (int, int, error) { panic("odd") })
	})
	v, err := m.get(t.Context(), "k", func(context.Context) (int, int, error) { return 7, 1, nil })
	require.NoError(t, err)
	require.Equal(t, 7, v)
}

func TestMemoOutlivesTheFirstReader(t *testing.T) {
	t.Parallel()
	m := newMemo[string, int](100)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	v, err := m.get(gone, "k", func(ctx context.Context) (int, int, error) { return 1, 1, ctx.Err() })
	if err == nil {
		require.Equal(t, 1, v)
	}
	v, err = m.get(t.Context(), "k", func(context.Context) (int, int, error) { return 2, 1, nil })
	require.NoError(t, err)
	require.Equal(t, 1, v, "the load went on")
}

func TestMemoStaysWithinItsBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMemo[int, int](50)
		for _, key := range rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "keys") {
			v, err := m.get(context.Background(), key, func(context.Context) (int, int, error) { return key, key, nil })
			require.NoError(t, err)
			require.Equal(t, key, v)
			require.True(t, m.used <= 50 || m.order.Len() == 1)
			require.Len(t, m.items, m.order.Len())
		}
	})
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := place{seq: rapid.Int64Range(1, 1<<60).Draw(t, "seq"), n: rapid.IntRange(0, 1000).Draw(t, "n")}
		q, ok := parsePlace(p.String())
		require.True(t, ok)
		require.Equal(t, p, q)
		require.False(t, p.before(q))
		require.True(t, p.before(afterEvent(p.seq)))
		require.True(t, p.before(place{seq: p.seq + 1}))
	})
}

func FuzzParsePlace(f *testing.F) {
	f.Add("1-0")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, id string) {
		p, ok := parsePlace(id)
		if ok {
			require.Positive(t, p.seq)
			require.GreaterOrEqual(t, p.n, 0)
		} else {
			require.Equal(t, place{}, p)
		}
	})
}
