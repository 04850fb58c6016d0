package store

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"

	"deerflow/internal/thread"
)

// A key reads df_<id>_<secret>: a name by which it is found, listed and revoked,
// and 256 random bits. Both are in lower-case base32, so that a double click
// marks all of it.
const (
	keyPrefix      = "df_"
	keyIDBytes     = 10
	keySecretBytes = 32
)

// maxKeyText bounds what is looked at: a key has 72 characters.
const maxKeyText = 128

func keyEncoding() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}

// newKeyText makes up a key. The random source never fails.
func newKeyText() (id, text string) {
	random := make([]byte, keyIDBytes+keySecretBytes)
	_, _ = rand.Read(random) // it ends the process rather than return an error
	id = keyEncoding().EncodeToString(random[:keyIDBytes])
	return id, keyPrefix + id + "_" + keyEncoding().EncodeToString(random[keyIDBytes:])
}

// KeyID is the id in the text of a key. ok is false for a text that is no key of
// ours.
func KeyID(text string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(text, keyPrefix)
	if !ok || len(text) > maxKeyText {
		return "", false
	}
	id, secret, _ := strings.Cut(rest, "_")
	return id, thread.ValidID(id) && secret != ""
}

// hashKey is what is kept of a key. A fast hash is enough: slow ones protect
// words that people choose, while nobody finds 256 random bits by trying, at
// whatever speed. It is computed on every request.
func hashKey(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// Matches reports whether text is the whole key. The time it takes tells nothing
// about the key.
func (k *Key) Matches(text string) bool {
	sum := hashKey(text)
	return subtle.ConstantTimeCompare(sum[:], k.hash[:]) == 1
}

// userHashBytes is how much of the hash stands in a mapped user id.
const userHashBytes = 8

// UserID is the id under which the threads and files of a named user stand. A
// name that could be a part of a path is its own id; any other becomes what is
// plain in it and a part of its hash (spec tools 2.1-3). The error is an
// [ErrInvalid].
func UserID(name string) (string, error) {
	if err := checkLine("user name", name, maxUserName); err != nil {
		return "", err
	}
	if strings.TrimSpace(name) == "" {
		return "", fmt.Errorf("user name: it is empty: %w", ErrInvalid)
	}
	if thread.ValidID(name) {
		return name, nil
	}
	plain := strings.Map(func(r rune) rune {
		if thread.ValidID(string(r)) {
			return r
		}
		return '-'
	}, name)
	sum := sha256.Sum256([]byte(name))
	const room = 64 - 1 - 2*userHashBytes
	return plain[:min(len(plain), room)] + "-" + hex.EncodeToString(sum[:userHashBytes]), nil
}
