package config

import "time"

// Thread shapes the workflow behind a conversation.
type Thread struct {
	// ContinueAsNewEvents is the growth of the history, in events since the
	// run's first one, after which the workflow continues as new (2000).
	ContinueAsNewEvents int `yaml:"continue_as_new_events" conf:"min=1"`
	// ContinueAsNewBytes is the same in bytes (1 MiB).
	ContinueAsNewBytes int `yaml:"continue_as_new_bytes" conf:"min=1"`
	// IdleTimeout is how long a thread without a run stays open before its
	// workflow completes (24 h); the next message starts it again. 0 means that
	// it never completes.
	IdleTimeout time.Duration `yaml:"idle_timeout"`
	// MaxTurns is the number of model calls that one run may make (100).
	MaxTurns int `yaml:"max_turns" conf:"min=1"`
}

// What a run does when nobody answered its question in time.
const (
	OnTimeoutProceed = "proceed" // goes on, told that there was no answer
	OnTimeoutStop    = "stop"    // ends
)

// Clarification says how long a question to the user may stay open.
type Clarification struct {
	// Timeout is the longest wait for an answer; 0 waits for ever (0).
	Timeout time.Duration `yaml:"timeout"`
	// OnTimeout is OnTimeoutProceed (the default) or OnTimeoutStop.
	OnTimeout string `yaml:"on_timeout" conf:"enum=proceed|stop"`
}
