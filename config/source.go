package config

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// Source gives the config in force while its files are edited. A file with a
// mistake changes nothing: what was read last stays in force until it is put
// right, and the mistake is logged once.
type Source struct {
	o   Options
	now func() time.Time

	mu      sync.Mutex
	log     *slog.Logger
	current *Config
	at      place
	stamp   stamp
	read    [sha256.Size]byte
	mistake error  // in what was read last
	told    string // the mistake that was logged last; "" when there is none
	pending string // sections that wait for a restart
}

const (
	// settleTime is how long a file has to be left alone before it is read: it
	// may be half written.
	settleTime = 50 * time.Millisecond
	// racyTime is how old a file has to be for its time and size to tell that it
	// is the same: the clocks of some file systems count in two seconds.
	racyTime = 2 * time.Second
)

// Open loads the config as [Load] does, and gives a source that goes on looking
// at its files.
func Open(o Options) (*Source, []Warning, error) {
	o = o.withDefaults()
	s := &Source{o: o, now: time.Now, log: slog.New(slog.DiscardHandler)}
	at, err := locate(o)
	if err != nil {
		return nil, nil, err
	}
	stamp := s.stampOf(at)
	text, err := at.read()
	if err != nil {
		return nil, nil, err
	}
	c, warnings, err := text.parse(o.Getenv)
	if err != nil {
		return nil, warnings, err
	}
	s.current, s.at, s.stamp, s.read = c, at, stamp, text.sum()
	return s, warnings, nil
}

// LogTo says where edits are told of; without it they are not.
func (s *Source) LogTo(log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = log
}

// Current returns the config in force. It looks at the files at each call; a
// change shows a moment after it was written. Settings that count from a start
// on keep their values.
func (s *Source) Current() *Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		s.reject(err)
	} else {
		s.told = ""
	}
	return s.current
}

// refresh reads the files when they have changed. The error says why what they
// hold now is not in force.
func (s *Source) refresh() error {
	at, err := locate(s.o)
	if err != nil {
		return err
	}
	if at.config == "" && s.at.config != "" {
		return &Error{File: s.at.config, Msg: "the config file is gone"}
	}
	now := s.now()
	stamp := s.stampOf(at)
	if at.config == s.at.config && stamp.same(&s.stamp) && !s.stamp.racy() || stamp.unsettled(now) {
		return s.mistake
	}
	text, err := at.read()
	if err != nil {
		return err
	}
	sum := text.sum()
	same := sum == s.read && at.config == s.at.config
	s.at, s.stamp, s.read = at, stamp, sum
	if same {
		return s.mistake
	}
	var c *Config
	var warnings []Warning
	if c, warnings, s.mistake = text.parse(s.o.Getenv); s.mistake == nil {
		s.accept(c, warnings)
	}
	return s.mistake
}

// accept puts a config in force.
func (s *Source) accept(c *Config, warnings []Warning) {
	ignored := strings.Join(c.keepUntilRestart(s.current), ", ")
	s.current = c
	s.log.Info("The configuration was edited; runs that start now go by it", "file", c.Path)
	for _, w := range warnings {
		s.log.Warn("Configuration: " + w.String())
	}
	if ignored != "" && ignored != s.pending {
		s.log.Warn("Edited settings that count after a restart only", "settings", ignored)
	}
	s.pending = ignored
}

// reject leaves the config in force as it is, and says so once.
func (s *Source) reject(err error) {
	if why := err.Error(); why != s.told {
		s.told = why
		s.log.Error("The configuration that was edited has mistakes; the one before stays in force", "mistakes", why)
	}
}

// stamp is what a look at files without reading them tells.
type stamp struct {
	config, dotenv fs.FileInfo // nil when there is none
	taken          time.Time
}

func (s *Source) stampOf(at place) stamp {
	st := stamp{taken: s.now()}
	if at.config != "" {
		st.config, _ = os.Stat(at.config) // one that cannot be looked at is reported when it is read
	}
	st.dotenv, _ = os.Stat(at.dotenv)
	return st
}

func (s *stamp) same(other *stamp) bool {
	return sameInfo(s.config, other.config) && sameInfo(s.dotenv, other.dotenv)
}

func sameInfo(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && os.SameFile(a, b)
}

// racy reports whether a file may have been written again without a sign of it.
func (s *stamp) racy() bool { return s.younger(s.taken, racyTime) }

// unsettled reports whether a file may be half written.
func (s *stamp) unsettled(now time.Time) bool { return s.younger(now, settleTime) }

func (s *stamp) younger(now time.Time, age time.Duration) bool {
	for _, info := range []fs.FileInfo{s.config, s.dotenv} {
		if info != nil && now.Sub(info.ModTime()).Abs() < age {
			return true
		}
	}
	return false
}

// sum names the contents. The two files are kept apart in it.
func (t text) sum() [sha256.Size]byte {
	config := sha256.Sum256(t.data)
	vars := sha256.Sum256(t.vars)
	return sha256.Sum256(append(config[:], vars[:]...))
}

// readVars reads a .env file; one that does not exist is empty.
func readVars(path string) ([]byte, error) {
	data, err := os.ReadFile(path) //nolint:gosec // it stands beside the config that the user names
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{File: path, Msg: "cannot read the variables beside the config: " + reason(err)}
	}
	return data, nil
}
