package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"deerflow/config"
	"deerflow/internal/bind"
)

// Options say how [Start] runs everything in this process.
type Options struct {
	ConfigPath     string // config.yaml; empty: where it is usually found
	DataDir        string // made when missing
	Listen         string // address of the API; port 0 picks a free one
	TemporalPort   int    // 0 picks a free one
	TemporalUIPort int    // 0 picks a free one
	Version        string
	Logger         *slog.Logger // nil: made from the config, on standard error
	// Progress is told what is being done, one short sentence each; may be nil.
	Progress func(string)
}

// UsageError is a mistake that a user has to put right before anything can
// start: nothing was started, nothing was changed.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error { return &UsageError{Err: fmt.Errorf(format, args...)} }

// Files of a data directory.
const (
	storeFile  = "deerflow.db"
	usersDir   = "users"
	serverFile = "server.json"
)

// load reads the configuration and refuses what this version cannot keep safe.
func (o Options) load() (*config.Source, []config.Warning, error) {
	source, warnings, err := config.Open(config.Options{Path: o.ConfigPath, Getenv: os.LookupEnv})
	if err != nil {
		return nil, warnings, &UsageError{Err: err}
	}
	if o.Listen != "" {
		_, err = authFor(source.Current(), o.Listen)
	}
	return source, warnings, err
}

// listen opens the API's address.
func (o Options) listen(ctx context.Context) (net.Listener, error) {
	ln, err := bind.TCP(ctx, o.Listen)
	if err != nil {
		return nil, usage("cannot listen on %s: %w: stop the program that listens there, or choose another address with --listen (port 0 picks a free one)", o.Listen, reasonOf(err))
	}
	return ln, nil
}

// reasonOf is the system's answer without the address, which the caller names.
func reasonOf(err error) error {
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys.Err
	}
	return err
}

// makeDataDir gives the data directory's absolute path.
func (o Options) makeDataDir() (string, error) {
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return "", usage("data directory %q: %w", o.DataDir, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", usage("data directory %s cannot be made: %w", dir, reasonOf(err))
	}
	return dir, nil
}
