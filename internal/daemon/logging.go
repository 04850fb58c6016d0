package daemon

import (
	"context"
	"io"
	"log/slog"
	"os"

	"deerflow/config"
)

func newLogger(level config.LogLevel) *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level.Slog()}))
}

// quieter passes on what is at least as severe as least: the libraries below
// tell more than a person who runs the product wants to read.
type quieter struct {
	slog.Handler
	least slog.Level
}

func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= q.least && q.Handler.Enabled(ctx, level)
}

func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs), q.least}
}

func (q quieter) WithGroup(name string) slog.Handler {
	return quieter{q.Handler.WithGroup(name), q.least}
}

// errorsOnly is a handler for a process whose terminal is somebody else's.
type errorsOnly struct{ slog.Handler }

// ErrorLogger writes the product's errors to w and nothing of the Temporal SDK,
// for which an activity that a stop has cut off is an error too.
func ErrorLogger(w io.Writer) *slog.Logger {
	return slog.New(errorsOnly{slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelError})})
}

// quiet is log for the Temporal SDK.
func quiet(log *slog.Logger) *slog.Logger {
	if _, ok := log.Handler().(errorsOnly); ok {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(quieter{log.Handler(), slog.LevelWarn}).With("part", "temporal-sdk")
}
