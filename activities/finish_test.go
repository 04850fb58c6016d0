package activities

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/model"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// lock takes the write lock of the world's database from outside.
func (w *world) lock() (unlock func()) {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(filepath.Dir(w.dir), "deerflow.db"))
	require.NoError(w.t, err)
	conn, err := db.Conn(w.t.Context())
	require.NoError(w.t, err)
	_, err = conn.ExecContext(w.t.Context(), "BEGIN IMMEDIATE")
	require.NoError(w.t, err)
	return func() {
		require.NoError(w.t, conn.Close())
		require.NoError(w.t, db.Close())
	}
}

// An answer that is complete while the database is locked is kept until it can
// be stored: it is not asked for again.
func TestAnAnswerOutlastsALockedDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := store.Owner{Ref: ref("t1", "r1", 1), MessageID: "r1-1"}
	claim, err := w.store.Claim(t.Context(), store.Claim{Ref: owner.Ref, MessageID: owner.MessageID})
	require.NoError(t, err)
	owner.Claim = claim.Claim
	unlock := w.lock()
	s := newStreamer(t.Context(), w.store, owner)
	require.NoError(t, s.add(model.Delta{Text: "kept "}), "the model goes on")
	require.NoError(t, s.add(model.Delta{Text: "pieces"}))
	rest := s.end()
	require.Len(t, rest, 1)
	require.Equal(t, "kept pieces", rest[0].Data.(store.Delta).Text)
	timer := time.AfterFunc(6*time.Second, unlock) // longer than one try waits
	defer timer.Stop()
	row, err := w.acts.finish(t.Context(), owner, store.NewRow{Pos: 1, Message: thread.Message{ID: "r1-1", Role: thread.RoleAI, Content: thread.Text("kept pieces")}}, rest...)
	require.NoError(t, err)
	require.Equal(t, "kept pieces", row.Message.Content.String())
	require.Equal(t, 1, w.events(store.EventDelta))
}

// A step that finds the database locked before it has done anything says so: the
// workflow waits, and no attempt is used up.
func TestALockedDatabaseIsNoFailedAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer = says("never asked for")
	unlock := w.lock()
	_, err := w.callModel()
	unlock()
	require.ErrorContains(t, err, step.ErrStoreAway)
	require.Zero(t, w.asked)
	require.NoError(t, func() error { _, err := w.callModel(); return err }())
}

// Of a transcript without an end a thread is loaded with the newest messages.
func TestDigestsAreBounded(t *testing.T) {
	t.Parallel()
	digests := make([]thread.Digest, 20_000)
	for i := range digests {
		digests[i] = thread.Digest{ID: strings.Repeat("i", 40), Pos: int64(i), CallID: strings.Repeat("c", 30)}
	}
	kept, err := newest(digests)
	require.NoError(t, err)
	require.Greater(t, len(kept), 5000)
	require.Less(t, len(kept), len(digests))
	require.Equal(t, digests[len(digests)-1], kept[len(kept)-1])
}
