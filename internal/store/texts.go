package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// What a text is kept as.
const (
	textPage = "page"
	textFile = "file"
)

// hashText is the name of a text.
func hashText(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// keepTexts stores texts by their hash and notes that the locked thread wants
// them. The order of the hashes is the same for everybody, so that no two writers
// wait for each other.
func (t *tx) keepTexts(ctx context.Context, kind string, texts map[string]string) error {
	hashes := make([]string, 0, len(texts))
	for hash := range texts {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes)
	for _, hash := range hashes {
		// The update takes the lock by which dropTexts sees the reference below.
		_, err := t.exec(ctx, `INSERT INTO texts (hash, body, created_at) VALUES (?, ?, ?)
			ON CONFLICT (hash) DO UPDATE SET created_at = excluded.created_at`, hash, texts[hash], micros(t.now))
		if err != nil {
			return fmt.Errorf("keep a text: %w", err)
		}
		if err := t.referText(ctx, kind, hash); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) referText(ctx context.Context, kind, hash string) error {
	_, err := t.exec(ctx, `INSERT INTO text_refs (thread_id, kind, hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, t.thread, kind, hash)
	return err
}

// dropTexts takes back references of the locked thread, and removes the texts
// that nobody refers to any more. The hashes must be sorted.
func (t *tx) dropTexts(ctx context.Context, kind string, hashes []string) error {
	for _, hash := range hashes {
		if t.locking {
			// A writer that refers to it at this moment goes first: the statement that
			// looks for references below sees them.
			var found string
			err := get(ctx, t, `SELECT hash FROM texts WHERE hash = ? FOR UPDATE`, []any{hash}, &found)
			if err != nil && !isNoRow(err) {
				return err
			}
		}
		if _, err := t.exec(ctx, `DELETE FROM text_refs WHERE thread_id = ? AND kind = ? AND hash = ?`, t.thread, kind, hash); err != nil {
			return err
		}
		_, err := t.exec(ctx, `DELETE FROM texts WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM text_refs AS r WHERE r.hash = texts.hash)`, hash)
		if err != nil {
			return err
		}
	}
	return nil
}

// textsOf are the hashes that the thread refers to, sorted.
func textsOf(ctx context.Context, q querier, threadID, kind string) ([]string, error) {
	hashes, err := all(ctx, q, scanString, `SELECT hash FROM text_refs WHERE thread_id = ? AND kind = ?`, threadID, kind)
	slices.Sort(hashes)
	return hashes, err
}

// Text reads a page that is kept for a thread, by the hash of its text; an
// [ErrNotFound] when there is none.
func (s *Store) Text(ctx context.Context, threadID, hash string) (string, error) {
	texts, err := s.readTexts(ctx, threadID, textPage, []string{hash})
	if err == nil && len(texts) == 0 {
		err = ErrNotFound
	}
	return texts[hash], wrap(err, "read text %q of thread %q", hash, threadID)
}

// TextsNamed are the hashes of pages kept for a thread that begin with some hex
// digits: at most two, which is enough to know that they name none, one or several.
func (s *Store) TextsNamed(ctx context.Context, threadID, digits string) ([]string, error) {
	var hashes []string
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		hashes, err = all(ctx, q, scanString, `SELECT hash FROM text_refs WHERE thread_id = ? AND kind = ? AND substr(hash, 1, ?) = ?
			ORDER BY hash LIMIT 2`, threadID, textPage, len(digits), digits)
		return err
	})
	return hashes, wrap(err, "look for text %q of thread %q", digits, threadID)
}

// FileTexts reads texts of files as they were when the newest run of a thread
// began, by their hash. Those that are not kept are left out.
func (s *Store) FileTexts(ctx context.Context, threadID string, hashes []string) (map[string]string, error) {
	texts, err := s.readTexts(ctx, threadID, textFile, hashes)
	return texts, wrap(err, "read texts of files of thread %q", threadID)
}

func (s *Store) readTexts(ctx context.Context, threadID, kind string, hashes []string) (map[string]string, error) {
	texts := map[string]string{}
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		for _, hash := range hashes {
			var body string
			err := get(ctx, q, `SELECT t.body FROM texts AS t JOIN text_refs AS r ON r.hash = t.hash
				WHERE r.thread_id = ? AND r.kind = ? AND r.hash = ?`, []any{threadID, kind, hash}, &body)
			switch {
			case err == nil:
				texts[hash] = body
			case !isNoRow(err):
				return err
			}
		}
		return nil
	})
	return texts, err
}

// cutText makes text that both databases take, at most limit bytes long.
func cutText(s string, limit int) (text string, cut bool) {
	s = clean(s)
	if len(s) <= limit {
		return s, false
	}
	return strings.ToValidUTF8(s[:limit], ""), true
}
