package sandbox

import "log/slog"

// bubblewrapName begins the ids of sandboxes that bubblewrap walls in.
const bubblewrapName = "bubblewrap"

// BubblewrapOptions configure [NewBubblewrap].
type BubblewrapOptions struct {
	// Network gives commands the network of this host. Without it they have a
	// loopback device of their own and nothing else.
	Network bool
	// Limits bound each command.
	Limits Limits
	// Hide are files and directories of the host that commands must not see even
	// when they lie in a directory that is shown, such as a data directory below
	// /usr/local.
	Hide []string
	// Logger gets warnings; nil means slog.Default().
	Logger *slog.Logger
}
