package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// 50 writers at once, some on the same thread: numbers have no gaps, listeners
// hear them in order, and failing jobs take nothing with them.
func TestSeqUnderConcurrentWriters(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		const writers, threads, rounds = 50, 7, 6
		for i := range threads {
			f.newThread(fmt.Sprint("t", i))
		}
		var wg sync.WaitGroup
		errs := make([]error, writers)
		for w := range writers {
			wg.Go(func() { errs[w] = writeSome(f, fmt.Sprint("t", w%threads), fmt.Sprint("r", w), rounds) })
		}
		wg.Wait()
		require.NoError(f.t, errors.Join(errs...))
		total := 0
		for i := range threads {
			total += len(f.log(fmt.Sprint("t", i)))
		}
		require.Equal(f.t, writers*rounds*5, total) // reset, two deltas, message, checkpoint
		require.Equal(f.t, writers*rounds, f.count("messages"))
	})
}

func writeSome(f *fixture, th, run string, rounds int) error {
	for i := range rounds {
		r := ref(th, run, i+2)
		id := thread.MessageID(run, r.Step)
		stale, err := f.Claim(f.ctx, Claim{Ref: r, MessageID: id})
		if err != nil {
			return err
		}
		c, err := f.Claim(f.ctx, Claim{Ref: r, MessageID: id})
		if err != nil {
			return err
		}
		old, o := Owner{r, id, stale.Claim}, Owner{r, id, c.Claim}
		if err := f.Append(f.ctx, old, delta(old, "x")); !errors.Is(err, ErrFenced) {
			return fmt.Errorf("stale claim: %w", err)
		}
		if err := f.Append(f.ctx, o, delta(o, "a"), delta(o, "b")); err != nil {
			return err
		}
		if _, err := f.Finish(f.ctx, o, NewRow{Pos: 0, Message: ai(id, "ab")}); err != nil {
			return err
		}
		in := commitInput(r, 1, thread.StatusBusy)
		if _, err := f.Commit(f.ctx, in, plainDigest); err != nil {
			return err
		}
	}
	return nil
}

// lockFile takes the write lock of a SQLite file from outside the store.
func lockFile(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", sqliteURL(path, url.Values{}))
	require.NoError(t, err)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	return sync.OnceFunc(func() {
		_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK")
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, db.Close())
	})
}

func TestLockedFromOutside(t *testing.T) {
	t.Parallel()
	o := sqliteOptions(t)
	o.BusyTimeout = 150 * time.Millisecond
	f := openFixture(t, o)
	f.newThread("t1")
	unlock := lockFile(t, o.Path)
	defer unlock()

	_, err := f.Claim(f.ctx, Claim{Ref: ref("t1", "r1", 2), MessageID: "m"})
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, `claim message "m" of thread "t1": `)
	require.ErrorContains(t, err, "begin to write")
	require.ErrorContains(t, err, "locked")
	require.ErrorIs(t, f.Ping(f.ctx), ErrUnavailable, "who asks for a sign of life is told")
	_, err = f.GetThread(f.ctx, "t1")
	require.NoError(t, err, "readers go on")

	unlock()
	_, err = f.Claim(f.ctx, Claim{Ref: ref("t1", "r1", 2), MessageID: "m"})
	require.NoError(t, err)
	require.NoError(t, f.Ping(f.ctx))
}

func TestLockIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := openFixture(t, sqliteOptions(t))
	unlock := lockFile(t, f.opt.Path)
	timer := time.AfterFunc(100*time.Millisecond, unlock)
	defer timer.Stop()
	f.newThread("t1")
}

// A caller that gives up while the file is locked is answered at once; its job
// never runs, the others' do.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	f := openFixture(t, sqliteOptions(t))
	f.newThread("t1")
	unlock := lockFile(t, f.opt.Path)
	defer unlock()

	ctx, cancel := context.WithTimeout(f.ctx, 30*time.Millisecond)
	defer cancel()
	patient := make(chan error, 3)
	for i := range cap(patient) {
		go func() {
			_, err := f.CreateThread(f.ctx, NewThread{ID: fmt.Sprint("patient", i), User: "ann"}, IfExistsRaise)
			patient <- err
		}()
	}
	begin := time.Now()
	_, err := f.PatchThread(ctx, "t1", map[string]any{"given": "up"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(begin), 2*time.Second, "well before the lock's timeout")
	unlock()
	for range cap(patient) {
		require.NoError(t, <-patient)
	}
	got, err := f.GetThread(f.ctx, "t1")
	require.NoError(t, err)
	require.Equal(t, `{}`, string(got.Metadata))
}

func TestCancelledBefore(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		_, err := f.CreateThread(ctx, NewThread{ID: "t1", User: "ann"}, IfExistsRaise)
		require.ErrorIs(f.t, err, context.Canceled)
		_, err = f.GetThread(ctx, "t1")
		require.ErrorIs(f.t, err, context.Canceled)
		_, err = f.View(ctx, "t1", ViewOptions{})
		require.ErrorIs(f.t, err, context.Canceled)
		_, err = f.GetThread(f.ctx, "t1")
		require.ErrorIs(f.t, err, ErrNotFound)
	})
}

// Jobs that share a transaction fail alone.
func TestGroupIsolation(t *testing.T) {
	t.Parallel()
	f := openFixture(t, sqliteOptions(t))
	f.newThread("t1")
	w := f.db.(*sqliteBackend).writer
	started, hold, held := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	release := sync.OnceFunc(func() { close(hold) })
	defer release()
	go func() { // so that the others gather in one group
		held <- f.write(f.ctx, "t1", func(context.Context, *tx) error { close(started); <-hold; return nil })
	}()
	<-started
	boom := errors.New("boom")
	const jobs = 20
	results := make(chan error, jobs)
	for i := range jobs {
		go func() {
			results <- f.write(f.ctx, "t1", func(ctx context.Context, t *tx) error {
				if err := t.lock(ctx, "t1"); err != nil {
					return err
				}
				if _, err := t.emitValue(ctx, origin{}, EventCustom, i); err != nil {
					return err
				}
				if i%2 == 0 {
					return boom
				}
				return nil
			})
		}()
	}
	require.Eventually(t, func() bool { return len(w.jobs) >= jobs }, 10*time.Second, time.Millisecond)
	before := w.commits.Load()
	release()
	require.NoError(t, <-held)
	failed := 0
	for range jobs {
		if err := <-results; err != nil {
			require.ErrorIs(t, err, boom)
			failed++
		}
	}
	require.Equal(t, jobs/2, failed)
	require.Len(t, f.log("t1"), jobs/2)
	require.LessOrEqual(t, w.commits.Load()-before, int64(3), "they shared transactions")
}

func TestClosed(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		s, err := Open(f.ctx, f.opt)
		require.NoError(f.t, err)
		require.NoError(f.t, s.Close())
		_, err = s.CreateThread(f.ctx, NewThread{ID: "t1"}, IfExistsRaise)
		require.ErrorIs(f.t, err, ErrClosed)
		require.ErrorIs(f.t, s.Ping(f.ctx), ErrClosed)
		_, err = s.View(f.ctx, "t1", ViewOptions{})
		require.ErrorIs(f.t, err, ErrClosed)
	})
}

// Closing with a queue: every caller gets an answer, and what was acknowledged
// is there afterwards.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(t.Context(), Options{Path: path})
	require.NoError(t, err)
	const writers = 40
	acknowledged := make([]bool, writers)
	var wg sync.WaitGroup
	var once sync.Once
	some := make(chan struct{})
	for i := range writers {
		wg.Go(func() {
			_, err := s.CreateThread(t.Context(), NewThread{ID: fmt.Sprint(i)}, IfExistsRaise)
			acknowledged[i] = err == nil
			once.Do(func() { close(some) })
		})
	}
	<-some
	require.NoError(t, s.Close())
	wg.Wait()
	s, err = Open(t.Context(), Options{Path: path})
	require.NoError(t, err)
	for i, ok := range acknowledged {
		_, err := s.GetThread(t.Context(), fmt.Sprint(i))
		require.Equal(t, ok, err == nil)
	}
	require.NoError(t, s.Close())
}
