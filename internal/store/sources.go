package store

import (
	"context"
	"fmt"
	"time"

	"deerflow/internal/evidence"
	"deerflow/internal/thread"
)

// Bounds of what is kept of one result.
const (
	maxSources     = 200
	maxPage        = thread.MaxSourceText
	maxSourceTitle = 500  // characters
	maxSourceURL   = 4096 // bytes
)

// Source is a page that a tool has fetched or found.
type Source struct {
	RunID     string
	MessageID string // of the tool's result
	CallID    string
	Tool      string
	Kind      thread.SourceKind
	URL       string // as it was asked for, or found
	FinalURL  string // after redirects; "" when it is the same
	Title     string
	// Text is what the page says; it is only written. Hash is that of what was
	// kept of it, "" for none, Size its bytes.
	Text      string
	Hash      string
	BodyHash  string // of the page as it came; "" when nobody knows
	Size      int
	Truncated bool // the text was longer
	At        time.Time
}

const sourceColumns = `run_id, message_id, call_id, tool, kind, url, final_url, title, hash, body_hash, size, truncated, at`

func scanSource(r scanner) (Source, error) {
	var s Source
	var truncated int
	var at int64
	err := r.Scan(&s.RunID, &s.MessageID, &s.CallID, &s.Tool, &s.Kind, &s.URL, &s.FinalURL, &s.Title, &s.Hash, &s.BodyHash, &s.Size, &truncated, &at)
	s.Truncated, s.At = truncated != 0, fromMicros(at)
	return s, err
}

// addSources stores what came with a message of the locked thread.
func (t *tx) addSources(ctx context.Context, row *Row, sources []Source) error {
	pages := map[string]string{}
	ord := 0
	for i := range sources {
		s := &sources[i]
		key, ok := evidence.Key(s.URL)
		if !ok || ord == maxSources {
			continue
		}
		finalKey, ok := evidence.Key(s.FinalURL)
		if !ok || len(s.FinalURL) > maxSourceURL {
			s.FinalURL, finalKey = "", key
		}
		body, cut := cutText(s.Text, maxPage)
		hash := ""
		if body != "" {
			hash = hashText(body)
			pages[hash] = body
		}
		at := s.At
		if at.IsZero() {
			at = t.now
		}
		truncated := 0
		if cut {
			truncated = 1
		}
		_, err := t.exec(ctx, `INSERT INTO sources (thread_id, ord, url_key, final_key, `+sourceColumns+`)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			t.thread, ord, key, finalKey, row.RunID, row.ID, clean(s.CallID), clean(s.Tool), string(s.Kind), clean(s.URL), clean(s.FinalURL),
			clean(thread.FirstRunes(s.Title, maxSourceTitle)), hash, clean(s.BodyHash), len(body), truncated, micros(at))
		if err != nil {
			return fmt.Errorf("store source %d: %w", ord, err)
		}
		ord++
	}
	return t.keepTexts(ctx, textPage, pages)
}

// maxSourceList is the most that one list of sources has.
const maxSourceList = 5000

// Sources lists what the tools of a thread have fetched and found, oldest first.
func (s *Store) Sources(ctx context.Context, threadID string) ([]Source, error) {
	var list []Source
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		list, err = all(ctx, q, scanSource, `SELECT `+sourceColumns+` FROM sources WHERE thread_id = ? ORDER BY at, message_id, ord LIMIT ?`,
			threadID, maxSourceList)
		return err
	})
	return list, wrap(err, "list the sources of thread %q", threadID)
}

// KnownPages tells which addresses, by their keys, were fetched in a thread, and
// which were only found.
func (s *Store) KnownPages(ctx context.Context, threadID string, keys []string) (map[string]evidence.Grade, error) {
	known := map[string]evidence.Grade{}
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		for _, key := range keys {
			kinds, err := all(ctx, q, scanString, `SELECT kind FROM sources WHERE thread_id = ? AND url_key = ?
				UNION SELECT kind FROM sources WHERE thread_id = ? AND final_key = ?`, threadID, key, threadID, key)
			if err != nil {
				return err
			}
			for _, kind := range kinds {
				if kind == string(thread.SourceFetched) {
					known[key] = evidence.Fetched
				} else if known[key] == "" {
					known[key] = evidence.Found
				}
			}
		}
		return nil
	})
	return known, wrap(err, "look for pages of thread %q", threadID)
}

// mentionRows is how many messages one needle is looked for in at most, newest
// first.
const mentionRows = 50

// Mentions finds the messages of users and tools whose stored form has a text, of
// which something may be part that is no text of theirs: who asks looks again.
func (s *Store) Mentions(ctx context.Context, threadID, needle string) ([]thread.Message, error) {
	var found []thread.Message
	encoded, err := encode(needle)
	if err == nil {
		find := `instr(m.body, ?) > 0 AND instr(m.body, ?) = 0`
		if s.db.dialect() == dialectPostgres {
			find = `strpos(m.body, ?) > 0 AND strpos(m.body, ?) = 0`
		}
		err = s.read(ctx, func(ctx context.Context, q querier) error {
			rows, err := all(ctx, q, scanRow, `SELECT `+rowColumns+` FROM messages AS m WHERE m.thread_id = ? AND `+find+`
				ORDER BY m.pos DESC, m.seq DESC LIMIT ?`, threadID, string(encoded[1:len(encoded)-1]), `"type":"ai"`, mentionRows)
			for i := range rows {
				found = append(found, rows[i].Message)
			}
			return err
		})
	}
	return found, wrap(err, "look for a text in thread %q", threadID)
}
