package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"deerflow/internal/thread"
)

// metadataPinned is the key of the metadata that keeps a thread on top of the
// list.
const metadataPinned = "deerflow_pinned"

const threadColumns = `id, user_id, status, metadata, state, interrupts, error, checkpoint_id, created_at, updated_at, state_updated_at`

func scanThread(r scanner) (Thread, error) {
	var t Thread
	var metadata, state, interrupts string
	var created, updated, stateUpdated int64
	err := r.Scan(&t.ID, &t.User, &t.Status, &metadata, &state, &interrupts, &t.Error, &t.CheckpointID,
		&created, &updated, &stateUpdated)
	if err != nil {
		return Thread{}, err
	}
	t.Metadata = json.RawMessage(metadata)
	t.CreatedAt, t.UpdatedAt, t.StateUpdatedAt = fromMicros(created), fromMicros(updated), fromMicros(stateUpdated)
	if err := decode(state, &t.State); err != nil {
		return Thread{}, fmt.Errorf("state of thread %s: %w", t.ID, err)
	}
	if err := decode(interrupts, &t.Interrupts); err != nil {
		return Thread{}, fmt.Errorf("interrupts of thread %s: %w", t.ID, err)
	}
	return t, nil
}

// decode reads a JSON column, where nothing is written as the empty text.
func decode(text string, into any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), into)
}

// CreateThread makes a thread. When the id is taken, ifExists says what to do:
// with [IfExistsNothing] the thread is given as it is, otherwise the error is an
// [ErrExists]. A thread of another user is an [ErrNotFound] in any case.
func (s *Store) CreateThread(ctx context.Context, n NewThread, ifExists string) (Thread, error) {
	var made Thread
	metadata, pinned, err := metadataObject(n.Metadata)
	if err == nil {
		err = checkKey("thread id", n.ID)
	}
	if err == nil {
		err = s.write(ctx, n.ID, func(ctx context.Context, t *tx) error {
			created, err := t.insertThread(ctx, n.ID, n.User, metadata, pinned)
			if err != nil {
				return err
			}
			if made, err = readThread(ctx, t, n.ID); err != nil {
				return err
			}
			if !created && made.User != n.User {
				return fmt.Errorf("it is another user's: %w", ErrNotFound)
			}
			if !created && ifExists != IfExistsNothing {
				return ErrExists
			}
			return nil
		})
	}
	if err != nil {
		return Thread{}, wrap(err, "create thread %q", n.ID)
	}
	return made, nil
}

// insertThread makes the row, or reports that it was there already.
func (t *tx) insertThread(ctx context.Context, id, user, metadata string, pinned int) (created bool, err error) {
	now := micros(t.now)
	n, err := t.exec(ctx, `INSERT INTO threads (id, user_id, status, pinned, metadata, created_at, updated_at, state_updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		id, user, string(thread.StatusIdle), pinned, metadata, now, now, now)
	return n > 0, err
}

func readThread(ctx context.Context, q querier, id string) (Thread, error) {
	rows, err := all(ctx, q, scanThread, `SELECT `+threadColumns+` FROM threads WHERE id = ?`, id)
	if err != nil {
		return Thread{}, err
	}
	if len(rows) == 0 {
		return Thread{}, ErrNotFound
	}
	return rows[0], nil
}

// GetThread reads a thread; an [ErrNotFound] if there is none.
func (s *Store) GetThread(ctx context.Context, id string) (Thread, error) {
	var t Thread
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		t, err = readThread(ctx, q, id)
		return err
	})
	return t, wrap(err, "read thread %q", id)
}

// PatchThread sets keys of a thread's metadata and leaves the others. Pinning
// alone does not count as an update of the thread.
func (s *Store) PatchThread(ctx context.Context, id string, metadata map[string]any) (Thread, error) {
	var patched Thread
	err := s.write(ctx, id, func(ctx context.Context, t *tx) error {
		if err := t.lock(ctx, id); err != nil {
			return err
		}
		before, err := readThread(ctx, t, id)
		if err != nil {
			return err
		}
		merged, pinned, err := mergeMetadata(before.Metadata, metadata)
		if err != nil {
			return err
		}
		updated := t.now
		if _, ok := metadata[metadataPinned]; ok && len(metadata) == 1 || len(metadata) == 0 {
			updated = before.UpdatedAt
		}
		_, err = t.exec(ctx, `UPDATE threads SET metadata = ?, pinned = ?, updated_at = ? WHERE id = ?`,
			merged, pinned, micros(updated), id)
		if err != nil {
			return err
		}
		patched, err = readThread(ctx, t, id)
		return err
	})
	if err != nil {
		return Thread{}, wrap(err, "change the metadata of thread %q", id)
	}
	return patched, nil
}

// DeleteThread removes a thread with all its rows. Whoever still works on it
// gets [ErrThreadGone] from the next write on.
func (s *Store) DeleteThread(ctx context.Context, id string) error {
	err := s.write(ctx, id, func(ctx context.Context, t *tx) error {
		if err := t.lock(ctx, id); err != nil {
			return err
		}
		for _, kind := range []string{textFile, textPage} {
			hashes, err := textsOf(ctx, t, id, kind)
			if err != nil {
				return err
			}
			if err := t.dropTexts(ctx, kind, hashes); err != nil {
				return err
			}
		}
		for _, query := range []string{
			`DELETE FROM sources WHERE thread_id = ?`,
			`DELETE FROM citations WHERE thread_id = ?`,
			`DELETE FROM baselines WHERE thread_id = ?`,
			`DELETE FROM file_changes WHERE thread_id = ?`,
			`DELETE FROM events WHERE thread_id = ?`,
			`DELETE FROM messages WHERE thread_id = ?`,
			`DELETE FROM claims WHERE thread_id = ?`,
			`DELETE FROM checkpoints WHERE thread_id = ?`,
			`DELETE FROM runs WHERE thread_id = ?`,
			`DELETE FROM threads WHERE id = ?`,
		} {
			if _, err := t.exec(ctx, query, id); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "delete thread %q", id)
}

// touch marks the thread as changed now.
func (t *tx) touch(ctx context.Context, threadID string) error {
	_, err := t.exec(ctx, `UPDATE threads SET updated_at = ? WHERE id = ?`, micros(t.now), threadID)
	return err
}

// ownerOf is the user of a thread.
func ownerOf(ctx context.Context, q querier, threadID string) (string, error) {
	var user string
	err := get(ctx, q, `SELECT user_id FROM threads WHERE id = ?`, []any{threadID}, &user)
	if isNoRow(err) {
		return "", ErrThreadGone
	}
	return user, err
}

// stamp is how a time stands in a message: ISO 8601 with microseconds and
// offset, as LangGraph writes it.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000-07:00") }
