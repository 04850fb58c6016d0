package tools

import (
	"cmp"
	"strconv"
	"strings"
)

// Limits bound what tools take and give. Zero means the default, a negative
// value no limit; what [Run] bounds stays bounded.
type Limits struct {
	BashChars   int // of a command's output, 20,000 characters
	ReadChars   int // of read_file, 50,000 characters
	ListChars   int // of ls, 20,000 characters
	WriteBytes  int // of one write_file that does not append, 81,920 bytes
	GlobPaths   int // of glob, 200; never more than 1,000
	GrepMatches int // of grep, 100; never more than 500
	ResultBytes int // of any result, 256 KiB; for callers that bound it themselves
}

// resultBytes is how much text [Run] lets through.
func (l Limits) resultBytes() int {
	if l.ResultBytes <= 0 {
		return maxResult
	}
	return l.ResultBytes
}

// Limits that no configuration raises.
const (
	maxGlobPaths   = 1000
	maxGrepMatches = 500
)

// VariableWriteBytes is the environment variable that sets [Limits.WriteBytes]:
// a number of bytes, 0 or less for no limit.
const VariableWriteBytes = "DEERFLOW_WRITE_FILE_MAX_BYTES"

// WithEnv applies the environment variables that set limits. A value that is no
// number leaves the limit as it is.
func (l Limits) WithEnv(getenv func(string) string) Limits {
	n, err := strconv.Atoi(strings.TrimSpace(getenv(VariableWriteBytes)))
	if err != nil {
		return l
	}
	l.WriteBytes = n
	if n <= 0 {
		l.WriteBytes = -1
	}
	return l
}

// withDefaults puts the defaults in place of zeros.
func (l Limits) withDefaults() Limits {
	l.BashChars = cmp.Or(l.BashChars, 20_000)
	l.ReadChars = cmp.Or(l.ReadChars, 50_000)
	l.ListChars = cmp.Or(l.ListChars, 20_000)
	l.WriteBytes = cmp.Or(l.WriteBytes, 80<<10)
	l.GlobPaths = cmp.Or(l.GlobPaths, 200)
	l.GrepMatches = cmp.Or(l.GrepMatches, 100)
	return l
}

// atMost is how many results a search gives: what was asked for when that is
// positive, the configured number otherwise, and never more than both allow.
func atMost(asked, configured, hard int) int {
	if configured <= 0 || configured > hard {
		configured = hard
	}
	if asked <= 0 {
		return configured
	}
	return min(asked, configured)
}
