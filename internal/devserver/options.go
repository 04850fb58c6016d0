package devserver

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

// NoUI as [Options.UIPort] starts the server without its Web UI.
const NoUI = -1

// Values of [Options.Synchronous].
const (
	// SyncNormal survives a crash of the process; a power cut may take the last commits.
	SyncNormal = "NORMAL"
	// SyncFull survives a power cut as well and costs about a quarter of the speed.
	SyncFull = "FULL"
)

const (
	defaultNamespace = "default"
	// The server's own default of 24 hours would drop every continued run after a day.
	defaultRetention = 30 * 24 * time.Hour
	// The server refuses less than this for a namespace of one cluster.
	minRetention = time.Hour
)

// Options say how [Start] runs the server. Only DataDir is required.
type Options struct {
	// DataDir is the directory of the server's files. It is created (mode 0700) if it does not exist.
	DataDir string
	// Port of the gRPC frontend on 127.0.0.1; 0 picks a free one.
	Port int
	// UIPort of the Web UI on 127.0.0.1; 0 picks a free one, [NoUI] leaves it out.
	UIPort int
	// UIPublicPath is the path under which a reverse proxy shows the Web UI, such as "/temporal". Empty means that
	// it is visited directly.
	UIPublicPath string
	// Namespace that is made on the first start. Default "default".
	Namespace string
	// Synchronous is the SQLite setting of that name, [SyncNormal] (default) or [SyncFull].
	Synchronous string
	// Retention is how long closed workflows stay readable, at least an hour. Default 30 days. It is set on every
	// start, so a change takes effect on a namespace that exists.
	Retention time.Duration
	// SearchAttributes that the namespace must have, by name. Those that are missing are added on every start.
	SearchAttributes map[string]enumspb.IndexedValueType
	// Settings are entries of the server's dynamic configuration that take the place of the built-in ones.
	Settings map[string]any
	// Logger gets the server's warnings and errors, and all else that it says at a level below Debug. Default
	// slog.Default().
	Logger *slog.Logger
}

// withDefaults returns o with its defaults filled in, or says which option is wrong.
func (o Options) withDefaults() (Options, error) {
	if err := o.validate(); err != nil {
		return o, fmt.Errorf("embedded Temporal server: %w", err)
	}
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return o, fmt.Errorf("embedded Temporal server: finding the absolute path of DataDir %q: %w", o.DataDir, err)
	}
	o.DataDir = dir
	o.Namespace = cmp.Or(o.Namespace, defaultNamespace)
	o.Synchronous = strings.ToUpper(cmp.Or(o.Synchronous, SyncNormal))
	o.Retention = cmp.Or(o.Retention, defaultRetention)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o, nil
}

func (o Options) validate() error {
	if o.DataDir == "" {
		return errors.New("DataDir is empty; name the directory for its files")
	}
	if err := o.validatePorts(); err != nil {
		return err
	}
	if p := o.UIPublicPath; p != "" && (!strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/")) {
		return fmt.Errorf("option UIPublicPath is %q; it starts with a slash and ends without one", p)
	}
	switch strings.ToUpper(o.Synchronous) {
	case "", SyncNormal, SyncFull:
	default:
		return fmt.Errorf("option Synchronous is %q; use %s or %s", o.Synchronous, SyncNormal, SyncFull)
	}
	if o.Retention != 0 && o.Retention < minRetention {
		return fmt.Errorf("option Retention is %s; the server keeps at least %s", o.Retention, minRetention)
	}
	return nil
}

func (o Options) validatePorts() error {
	const highest = 65535
	switch {
	case o.Port < 0 || o.Port > highest:
		return fmt.Errorf("option Port is %d; use 0 for a free port or 1 to %d", o.Port, highest)
	case o.UIPort < NoUI || o.UIPort > highest:
		return fmt.Errorf("option UIPort is %d; use %d for no UI, 0 for a free port or 1 to %d", o.UIPort, NoUI, highest)
	case o.Port != 0 && o.Port == o.UIPort:
		return fmt.Errorf("options Port and UIPort are both %d; they need different ports", o.Port)
	}
	return nil
}
