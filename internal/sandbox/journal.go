package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Entries of the journal older than this may go when there are many: no call is
// run again so long after its first attempt.
const (
	journalKeep = 512
	journalAge  = 7 * 24 * time.Hour
)

// journalDir is where the entries are, below the thread's directory.
const journalDir = ".journal"

// The names of entries: <hash of the key> with one of these endings. An intent is
// renamed when the write has happened, so that a key has one of them at most.
const (
	intended = ".intent"
	finished = ".done"
)

// entry is what a keyed write is about to do, or has done.
type entry struct {
	Path   string `json:"path"` // virtual, with links followed
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
	Size   int64  `json:"size"`
	Temp   string `json:"temp,omitempty"` // below the mount
}

// journal remembers writes by key, in <thread>/.journal, out of the user's
// sight. It is used under the lock of the file that is written. Without a key it
// only settles what others left.
type journal struct {
	root  *os.Root // the thread's directory
	mount *os.Root
	place place
	name  string // of this key's entries without the ending; empty: no key
}

func (v *view) journal(key string, p place) (*journal, error) {
	root, err := v.thread()
	if err != nil {
		return nil, err
	}
	mount, err := v.root(p.mount)
	if err != nil {
		return nil, err
	}
	j := &journal{root: root, mount: mount, place: p}
	if key != "" {
		if err := root.MkdirAll(journalDir, 0o700); err != nil {
			return nil, journalError(err)
		}
		j.name = path.Join(journalDir, hashOf([]byte(key))[:32])
	}
	return j, nil
}

// settle decides the writes of other keys to this file that were interrupted
// around their rename, while the file still shows whether they happened: after
// the write that is about to come nobody could tell.
func (j *journal) settle(current string) error {
	names, err := j.list()
	if err != nil {
		return err
	}
	for _, name := range names {
		other := *j
		other.name = path.Join(journalDir, strings.TrimSuffix(name, intended))
		if !strings.HasSuffix(name, intended) || other.name == j.name {
			continue
		}
		e, ok, err := other.read(intended)
		if err != nil {
			return err
		}
		if !ok || e.Path != j.place.virtual() {
			continue
		}
		if _, err := other.decide(e, current); err != nil && !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return nil
}

// done reports whether this key's write has happened already.
func (j *journal) done(current string, r *WriteResult) (bool, error) {
	if j.name == "" {
		return false, nil
	}
	e, ok, err := j.read(finished)
	if err == nil && !ok {
		if e, ok, err = j.read(intended); err == nil && ok && e.Path == j.place.virtual() {
			ok, err = j.decide(e, current)
		}
	}
	if err != nil || !ok {
		return false, err
	}
	if e.Path != j.place.virtual() {
		return false, fmt.Errorf("this call wrote %s before: %w", e.Path, ErrChanged)
	}
	r.Before, r.After, r.Size, r.Repeated = e.Before, e.After, e.Size, true
	return true, nil
}

// decide tells whether an interrupted write happened: it did when the file is as
// the write left it, it did not when the file is as the write found it. Anything
// else cannot be told and is an [ErrChanged].
func (j *journal) decide(e entry, current string) (bool, error) {
	if e.Temp != "" {
		if err := j.mount.Remove(e.Temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	switch current {
	case e.After:
		return true, j.finish()
	case e.Before:
		if err := j.root.Remove(j.name + intended); err != nil {
			return false, journalError(err)
		}
		return false, nil
	}
	return false, ErrChanged
}

// intend notes what the rename that follows will do.
func (j *journal) intend(e entry) error {
	if j.name == "" {
		return nil
	}
	e.Path = j.place.virtual()
	data, err := json.Marshal(e)
	if err != nil {
		return journalError(err)
	}
	// Written beside and renamed, so that no half an entry is ever read.
	temp := j.name + "." + randomHex()
	if err := j.root.WriteFile(temp, data, 0o600); err != nil {
		return journalError(err)
	}
	if err := j.root.Rename(temp, j.name+intended); err != nil {
		return journalError(err)
	}
	return nil
}

// finish notes that the write has happened.
func (j *journal) finish() error {
	if j.name == "" {
		return nil
	}
	if err := j.root.Rename(j.name+intended, j.name+finished); err != nil {
		return journalError(err)
	}
	return nil
}

func (j *journal) read(ending string) (entry, bool, error) {
	data, err := j.root.ReadFile(j.name + ending)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{}, false, nil
	}
	if err != nil {
		return entry{}, false, journalError(err)
	}
	var e entry
	if err := json.Unmarshal(data, &e); err != nil {
		return entry{}, false, journalError(err)
	}
	return e, true, nil
}

func journalError(err error) error { return fmt.Errorf("journal of writes: %w", cause(err)) }

// list gives the names of all entries and drops old ones when there are many.
func (j *journal) list() ([]string, error) {
	d, err := j.root.Open(journalDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, journalError(err)
	}
	defer func() { _ = d.Close() }()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, journalError(err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if len(entries) > journalKeep {
			info, err := e.Info()
			if err == nil && time.Since(info.ModTime()) > journalAge {
				_ = j.root.Remove(path.Join(journalDir, e.Name())) // another call may have been quicker
				continue
			}
		}
		names = append(names, e.Name())
	}
	return names, nil
}
