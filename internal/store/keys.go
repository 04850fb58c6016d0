package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"deerflow/internal/thread"
)

// Role is what the holder of a key may do.
type Role string

// The roles. A user reaches their own threads and files; an admin's key is the
// same, and opens besides what concerns the whole server.
const (
	RoleUser  Role = "user"
	RoleAdmin Role = "admin"
)

// Key is an API key as it is stored. The key itself is not in it.
type Key struct {
	ID    string
	User  string // the id of the user who calls with it
	Label string // for people; may be empty
	Role  Role

	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // to about a minute; zero: never
	RevokedAt  time.Time // zero: it is not

	hash [32]byte
}

// Expired reports whether the time of the key is over.
func (k *Key) Expired(now time.Time) bool {
	return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt)
}

// Revoked reports whether the key was taken back.
func (k *Key) Revoked() bool { return !k.RevokedAt.IsZero() }

// NewKey is a key to make.
type NewKey struct {
	User      string // an id, see [UserID]
	Label     string
	Role      Role
	ExpiresAt time.Time // zero: never
}

const (
	maxUserName = 255
	maxKeyLabel = 100
)

// check refuses what would look wrong in a list, or mean nothing.
func (n *NewKey) check() error {
	if !thread.ValidID(n.User) { // it names a directory
		return fmt.Errorf("user id %.80q: must be 1 to 64 letters, digits, '_' and '-': %w", n.User, ErrInvalid)
	}
	if !slices.Contains([]Role{RoleUser, RoleAdmin}, n.Role) {
		return fmt.Errorf("role %q: must be user or admin: %w", n.Role, ErrInvalid)
	}
	return checkLine("label", n.Label, maxKeyLabel)
}

// checkLine refuses text that is no single line of at most so many characters.
func checkLine(what, text string, most int) error {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > most {
		return fmt.Errorf("%s: must be UTF-8 of at most %d characters: %w", what, most, ErrInvalid)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s: %q cannot be printed: %w", what, r, ErrInvalid)
		}
	}
	return nil
}

const keyColumns = `id, hash, user_id, label, role, created_at, expires_at, last_used_at, revoked_at`

func scanKey(r scanner) (Key, error) {
	var k Key
	var hash string
	var created, expires, used, revoked int64
	if err := r.Scan(&k.ID, &hash, &k.User, &k.Label, &k.Role, &created, &expires, &used, &revoked); err != nil {
		return Key{}, err
	}
	sum, err := hex.DecodeString(hash)
	if err != nil || len(sum) != len(k.hash) {
		return Key{}, fmt.Errorf("the hash of key %s is damaged: %w", k.ID, errors.Join(err, ErrInvalid))
	}
	copy(k.hash[:], sum)
	k.CreatedAt, k.ExpiresAt = maybeTime(created), maybeTime(expires)
	k.LastUsedAt, k.RevokedAt = maybeTime(used), maybeTime(revoked)
	return k, nil
}

// maybeTime is a time that may be none, written as 0.
func maybeTime(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return fromMicros(n)
}

func maybeMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return micros(t)
}

// CreateKey makes a key and gives its text, df_<id>_<secret>, which nobody can
// read again.
func (s *Store) CreateKey(ctx context.Context, n NewKey) (key Key, text string, err error) {
	if err := n.check(); err != nil {
		return Key{}, "", wrap(err, "create an API key")
	}
	id, text := newKeyText()
	err = s.write(ctx, "", func(ctx context.Context, t *tx) error {
		sum := hashKey(text)
		_, err := t.exec(ctx, `INSERT INTO api_keys (id, hash, user_id, label, role, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			id, hex.EncodeToString(sum[:]), n.User, n.Label, string(n.Role), micros(t.now), maybeMicros(n.ExpiresAt))
		if err != nil {
			return err
		}
		key, err = readKey(ctx, t, id)
		return err
	})
	if err != nil {
		return Key{}, "", wrap(err, "create an API key")
	}
	return key, text, nil
}

func readKey(ctx context.Context, q querier, id string) (Key, error) {
	keys, err := all(ctx, q, scanKey, `SELECT `+keyColumns+` FROM api_keys WHERE id = ?`, id)
	if err != nil {
		return Key{}, err
	}
	if len(keys) == 0 {
		return Key{}, ErrNotFound
	}
	return keys[0], nil
}

// GetKey reads a key by its id, also one that is over; an [ErrNotFound] if there
// is none.
func (s *Store) GetKey(ctx context.Context, id string) (Key, error) {
	var k Key
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		k, err = readKey(ctx, q, id)
		return err
	})
	return k, wrap(err, "read API key %q", id)
}

// ListKeys lists all keys, the oldest first, also those that are over.
func (s *Store) ListKeys(ctx context.Context) ([]Key, error) {
	var keys []Key
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		keys, err = all(ctx, q, scanKey, `SELECT `+keyColumns+` FROM api_keys ORDER BY created_at, id`)
		return err
	})
	return keys, wrap(err, "list API keys")
}

// RevokeKey takes a key back, for good. One that was taken back before stays as
// it is; an [ErrNotFound] if there is none.
func (s *Store) RevokeKey(ctx context.Context, id string) (Key, error) {
	var k Key
	err := s.write(ctx, "", func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at = 0`, micros(t.now), id)
		if err != nil {
			return err
		}
		k, err = readKey(ctx, t, id)
		return err
	})
	return k, wrap(err, "revoke API key %q", id)
}

// TouchKey notes that a key was used, unless that was noted at most a minute
// before.
func (s *Store) TouchKey(ctx context.Context, id string, at time.Time) error {
	err := s.write(ctx, "", func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, `UPDATE api_keys SET last_used_at = ? WHERE id = ? AND last_used_at <= ?`,
			micros(at), id, micros(at.Add(-KeyUsePrecision)))
		return err
	})
	return wrap(err, "note the use of API key %q", id)
}

// KeyUsePrecision is how far [Key.LastUsedAt] may lag behind.
const KeyUsePrecision = time.Minute
