package api

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"deerflow/internal/store"
)

// Reasons why a key does not open anything.
var (
	errWrongKey   = errors.New("there is no such key")
	errKeyRevoked = errors.New("the key was revoked")
	errKeyExpired = errors.New("the key has expired")
)

const (
	// keyLife is how long a key that was looked up is believed: as long as this a
	// revoked one may still work, and twice as long a stream that is open.
	keyLife = 2 * time.Second
	// keysKnown is how many keys are remembered at once.
	keysKnown = 1024
	// touchTime is how long a request waits at most to note the use of its key.
	touchTime = time.Second
)

// keyStore is where keys are.
type keyStore interface {
	GetKey(ctx context.Context, id string) (store.Key, error)
	TouchKey(ctx context.Context, id string, at time.Time) error
}

// keyRing remembers keys for a short time, so that not every request reads them
// from the database. Ids that do not exist are not remembered.
type keyRing struct {
	store keyStore
	now   func() time.Time
	log   *slog.Logger
	life  time.Duration

	mu    sync.Mutex
	known *lru.Cache[string, knownKey]
}

type knownKey struct {
	key     store.Key
	read    time.Time
	touched time.Time // when its use was noted last, as far as we know
}

func newKeyRing(o *Options) *keyRing {
	known, _ := lru.New[string, knownKey](keysKnown) // fails for sizes below one only
	return &keyRing{store: o.Store, now: o.Now, log: o.Logger, life: keyLife, known: known}
}

// find is the valid key with this text; errWrongKey, errKeyRevoked or
// errKeyExpired when there is none.
func (r *keyRing) find(ctx context.Context, text string) (store.Key, error) {
	id, ok := store.KeyID(text)
	if !ok {
		return store.Key{}, errWrongKey
	}
	key, err := r.get(ctx, id)
	if err != nil {
		return store.Key{}, err
	}
	if !key.Matches(text) {
		return store.Key{}, errWrongKey
	}
	if err := r.over(&key); err != nil {
		return store.Key{}, err
	}
	r.touch(ctx, id)
	return key, nil
}

// over says why a key is not valid any more; nil while it is.
func (r *keyRing) over(key *store.Key) error {
	switch {
	case key.Revoked():
		return errKeyRevoked
	case key.Expired(r.now()):
		return errKeyExpired
	}
	return nil
}

// get reads a key, or gives it as it was a moment ago.
func (r *keyRing) get(ctx context.Context, id string) (store.Key, error) {
	now := r.now()
	r.mu.Lock()
	known, ok := r.known.Get(id)
	r.mu.Unlock()
	if ok && now.Sub(known.read) < r.life {
		return known.key, nil
	}
	key, err := r.store.GetKey(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return store.Key{}, errWrongKey
	}
	if err != nil {
		return store.Key{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	touched := key.LastUsedAt
	if before, ok := r.known.Get(id); ok && before.touched.After(touched) {
		touched = before.touched
	}
	r.known.Add(id, knownKey{key: key, read: now, touched: touched})
	return key, nil
}

// touch notes the use of a key, at most once a minute: a request that only
// reads must not cost a write.
func (r *keyRing) touch(ctx context.Context, id string) {
	now := r.now()
	r.mu.Lock()
	known, ok := r.known.Get(id)
	due := ok && now.Sub(known.touched) >= store.KeyUsePrecision
	if due {
		known.touched = now
		r.known.Add(id, known)
	}
	r.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), touchTime)
	defer cancel()
	if err := r.store.TouchKey(ctx, id, now); err != nil {
		r.log.Warn("Note the use of an API key", "key", id, "error", err)
	}
}

// watch waits until a key is not valid any more and says why. It gives nil when
// ctx ends first. A database that does not answer ends nothing.
func (r *keyRing) watch(ctx context.Context, id string) error {
	ticker := time.NewTicker(r.life)
	defer ticker.Stop()
	for {
		key, err := r.get(ctx, id)
		switch {
		case errors.Is(err, errWrongKey): // its row is gone
			return errKeyRevoked
		case err == nil:
			if err := r.over(&key); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
