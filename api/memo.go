package api

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// memoTimeout bounds one load; it does not hang on the reader that asked first.
const memoTimeout = 30 * time.Second

// memo remembers what many readers of one stream ask for at the same time. What
// stands under a key never changes. Only one of them loads it, the others wait
// for that one.
type memo[K comparable, V any] struct {
	mu     sync.Mutex
	budget int // bytes
	used   int
	items  map[K]*memoItem[K, V]
	order  *list.List // of *memoItem, newest use first
}

type memoItem[K comparable, V any] struct {
	key   K
	ready chan struct{}
	value V
	err   error
	size  int
	place *list.Element
}

func newMemo[K comparable, V any](budget int) *memo[K, V] {
	return &memo[K, V]{budget: budget, items: map[K]*memoItem[K, V]{}, order: list.New()}
}

// get gives the value under key; load makes it and says how many bytes it
// takes. Errors are not remembered.
func (m *memo[K, V]) get(ctx context.Context, key K, load func(context.Context) (V, int, error)) (V, error) {
	m.mu.Lock()
	item, known := m.items[key]
	if !known {
		item = &memoItem[K, V]{key: key, ready: make(chan struct{})}
		m.items[key] = item
	} else if item.place != nil {
		m.order.MoveToFront(item.place)
	}
	m.mu.Unlock()
	if !known {
		m.load(ctx, item, load)
	}
	select {
	case <-item.ready:
		return item.value, item.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

func (m *memo[K, V]) load(ctx context.Context, item *memoItem[K, V], load func(context.Context) (V, int, error)) {
	done := false
	defer func() {
		if !done { // a panic: nobody may wait for ever
			m.settle(item, errLoadFailed)
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), memoTimeout)
	defer cancel()
	var err error
	item.value, item.size, err = load(ctx)
	done = true
	m.settle(item, err)
}

func (m *memo[K, V]) settle(item *memoItem[K, V], err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	item.err = err
	close(item.ready)
	if err != nil {
		delete(m.items, item.key)
		return
	}
	item.place = m.order.PushFront(item)
	m.used += item.size
	m.shrink()
}

// shrink drops the longest unused values above the budget; the newest stays.
func (m *memo[K, V]) shrink() {
	for m.used > m.budget && m.order.Len() > 1 {
		oldest := m.order.Back()
		item, _ := oldest.Value.(*memoItem[K, V])
		m.order.Remove(oldest)
		delete(m.items, item.key)
		m.used -= item.size
	}
}
