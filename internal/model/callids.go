package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxSuffix ends the search for a free id, should every id be taken.
const maxSuffix = 10_000

// maxMadeID is the longest id that every provider takes back.
const maxMadeID = 40

// maxID is the longest id of a call that is kept as its provider sent it: ids
// stand in histories, in keys of the store and in every later request.
const maxID = 200

// boundedID puts a hash in the place of an id that is too long.
func boundedID(id string) string {
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

// madeID is the id of a call that came without one: the same in every attempt,
// since it depends on the scope and the position alone (A11).
func madeID(scope string, position int) string {
	id := fmt.Sprintf("call_%s_%d", safeID(scope), position)
	if len(id) <= maxMadeID && scope != "" {
		return id
	}
	sum := sha256.Sum256([]byte(scope))
	return fmt.Sprintf("call_%s_%d", hex.EncodeToString(sum[:8]), position)
}

func safeID(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && validName(string(r)) {
			return r
		}
		return '-'
	}, s)
}

// freshID gives an id that is not taken: the id itself, or with a suffix
// counted from 2.
func freshID(id string, taken func(string) bool) string {
	if !taken(id) {
		return id
	}
	next := id
	for n := 2; n < maxSuffix; n++ {
		if next = fmt.Sprintf("%s_%d", id, n); !taken(next) {
			break
		}
	}
	return next
}
