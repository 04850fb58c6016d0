package store

import (
	"context"
	"fmt"
)

// GetPlan reads a plan by its hash; an [ErrNotFound] if there is none.
func (s *Store) GetPlan(ctx context.Context, hash string) ([]byte, error) {
	var body string
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		err := get(ctx, q, `SELECT body FROM plans WHERE hash = ?`, []any{hash}, &body)
		if isNoRow(err) {
			return ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, wrap(err, "read plan %q", hash)
	}
	return []byte(body), nil
}

// PutPlan stores a plan of work on a thread that is no run. Storing it again is
// harmless.
func (s *Store) PutPlan(ctx context.Context, threadID, hash string, plan []byte) error {
	err := s.write(ctx, threadID, func(ctx context.Context, t *tx) error {
		if err := t.lock(ctx, threadID); err != nil {
			return err
		}
		return t.putPlan(ctx, hash, plan)
	})
	return wrap(err, "store plan %q", hash)
}

func (t *tx) putPlan(ctx context.Context, hash string, plan []byte) error {
	_, err := t.exec(ctx, `INSERT INTO plans (hash, body, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
		hash, clean(string(plan)), micros(t.now))
	if err != nil {
		return fmt.Errorf("store plan %s: %w", hash, err)
	}
	return nil
}
