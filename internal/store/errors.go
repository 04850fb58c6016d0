package store

import (
	"errors"
	"fmt"
)

// Errors that callers decide by; match them with [errors.Is].
var (
	// ErrNotFound: there is no such thread, run, plan, checkpoint or key, or the
	// thread is somebody else's.
	ErrNotFound = errors.New("not found")
	// ErrExists: a thread of this id exists.
	ErrExists = errors.New("exists already")
	// ErrFenced: somebody else owns the message now, or it is complete.
	ErrFenced = errors.New("fenced: the message belongs to another attempt, or is complete")
	// ErrOvertaken: the thread has gone on from another checkpoint than the caller
	// knows; nothing was written.
	ErrOvertaken = errors.New("the thread has gone on from another checkpoint")
	// ErrThreadGone: the thread was deleted, nothing was written. It is an
	// ErrNotFound too.
	ErrThreadGone = fmt.Errorf("the thread is gone: %w", ErrNotFound)
	// ErrNewer: a newer binary made the database; see [NewerError].
	ErrNewer = errors.New("the database is newer than this binary")
	// ErrNotPending: the run was taken up already and cannot be withdrawn.
	ErrNotPending = errors.New("the run is not pending any more")
	// ErrRunGone: the run was withdrawn, or ended, before it started.
	ErrRunGone = errors.New("the run is gone")
	// ErrActive: a run has not ended yet.
	ErrActive = errors.New("a run has not ended yet")
	// ErrInvalid: a query or a row that cannot be taken as it is.
	ErrInvalid = errors.New("invalid")
	// ErrUnavailable: the database cannot be worked with at the moment: it is not
	// reached, locked by somebody else, or its disk is full. Nothing was written,
	// unless the answer to a commit was lost; what is asked again is idempotent.
	ErrUnavailable = errors.New("the database is not available")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
)

// NewerError is the [ErrNewer] that [Open] returns: the schema version found in
// the database, and the newest one that this binary knows.
type NewerError struct {
	Database string // file or host and name, without a password
	Found    int64
	Known    int64
}

// Error names both versions and says what to do.
func (e *NewerError) Error() string {
	return fmt.Sprintf("database %s has schema version %d, this binary knows versions up to %d: start the newer deerflow again, or restore a backup made before the upgrade",
		e.Database, e.Found, e.Known)
}

// Is makes a NewerError match [ErrNewer].
func (e *NewerError) Is(target error) bool { return target == ErrNewer }
