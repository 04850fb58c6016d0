package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Baseline is what the files of a thread were when a run began.
type Baseline struct {
	Files json.RawMessage // opaque here
	// Texts are contents that are kept for diffs, by their hash. Kept are the
	// hashes of older ones that are still wanted.
	Texts map[string]string
	Kept  []string
}

// putBaseline replaces the baseline of the locked thread, and begins the record of
// what the run changes.
func (t *tx) putBaseline(ctx context.Context, runID string, b *Baseline) error {
	had, err := textsOf(ctx, t, t.thread, textFile)
	if err != nil {
		return err
	}
	had = slices.DeleteFunc(had, func(hash string) bool {
		_, again := b.Texts[hash]
		return again || slices.Contains(b.Kept, hash)
	})
	texts := make(map[string]string, len(b.Texts))
	for hash, body := range b.Texts {
		if body == clean(body) { // else it would not be what the hash says
			texts[hash] = body
		}
	}
	if err := t.keepTexts(ctx, textFile, texts); err != nil {
		return wrap(err, "keep the files of the thread")
	}
	if err := t.dropTexts(ctx, textFile, had); err != nil {
		return wrap(err, "drop older files of the thread")
	}
	_, err = t.exec(ctx, `INSERT INTO baselines (thread_id, run_id, files) VALUES (?, ?, ?)
		ON CONFLICT (thread_id) DO UPDATE SET run_id = excluded.run_id, files = excluded.files`, t.thread, runID, clean(string(b.Files)))
	if err != nil {
		return wrap(err, "store the files of the thread")
	}
	_, err = t.exec(ctx, `INSERT INTO file_changes (thread_id, run_id, body, at) VALUES (?, ?, '', 0) ON CONFLICT DO NOTHING`, t.thread, runID)
	return wrap(err, "begin the changes of the run")
}

// Baseline reads the files of a thread as they were when its newest run began,
// and the id of that run. An [ErrNotFound] when nobody has looked.
func (s *Store) Baseline(ctx context.Context, threadID string) (runID string, files json.RawMessage, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		var text string
		err := get(ctx, q, `SELECT run_id, files FROM baselines WHERE thread_id = ?`, []any{threadID}, &runID, &text)
		if isNoRow(err) {
			return ErrNotFound
		}
		files = raw(text)
		return err
	})
	return runID, files, wrap(err, "read the files of thread %q", threadID)
}

// FileChanges is what a run has changed, as of the time when somebody looked.
type FileChanges struct {
	Body json.RawMessage // opaque here; nil: nothing
	At   time.Time
}

// putChanges records what a run has changed, unless a later look is recorded.
func (t *tx) putChanges(ctx context.Context, runID string, c *FileChanges) error {
	_, err := t.exec(ctx, `UPDATE file_changes SET body = ?, at = ? WHERE thread_id = ? AND run_id = ? AND at < ?`,
		clean(string(c.Body)), micros(c.At), t.thread, runID, micros(c.At))
	return wrap(err, "store the changes of the run")
}

// PutChanges records what a run has changed, unless a later look is recorded.
func (s *Store) PutChanges(ctx context.Context, threadID, runID string, c FileChanges) error {
	err := s.write(ctx, threadID, func(ctx context.Context, t *tx) error {
		if err := t.lock(ctx, threadID); err != nil {
			return err
		}
		return t.putChanges(ctx, runID, &c)
	})
	return wrap(err, "store the changes of run %q of thread %q", runID, threadID)
}

// Changes reads what a run has changed; an [ErrNotFound] when nobody has looked.
func (s *Store) Changes(ctx context.Context, threadID, runID string) (FileChanges, error) {
	var c FileChanges
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		var body string
		var at int64
		err := get(ctx, q, `SELECT body, at FROM file_changes WHERE thread_id = ? AND run_id = ?`, []any{threadID, runID}, &body, &at)
		if isNoRow(err) {
			return ErrNotFound
		}
		c.Body = raw(body)
		if at > 0 {
			c.At = fromMicros(at)
		}
		return err
	})
	return c, wrap(err, "read the changes of run %q of thread %q", runID, threadID)
}
