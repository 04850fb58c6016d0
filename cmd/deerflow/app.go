package main

import (
	"context"
	"os"
	"runtime/debug"
	"strings"

	"deerflow/internal/cli"
)

// App is the world that commands live in.
type App struct {
	cli.IOStreams
	// Program is how the program was called; empty: deerflow.
	Program string
	Env     func(string) string
	Signals <-chan os.Signal // SIGINT and SIGTERM
	// Exit ends the process when a second signal comes while the first is still being obeyed.
	Exit func(code int)
	// StartServer starts everything in this process, for commands that find no server. Nil: they fail instead.
	StartServer ServerStarter
	// DefaultServer is asked when nothing else names a server.
	DefaultServer string
	// BuildInfo tells what this binary was built from.
	BuildInfo func() (*debug.BuildInfo, bool)
}

// DevOptions say how a [ServerStarter] runs Temporal, worker and API in this process.
type DevOptions struct {
	ConfigPath     string // config.yaml; empty: where it is usually found
	DataDir        string
	Listen         string // address of the API; port 0 picks a free one
	TemporalPort   int    // 0 picks a free one
	TemporalUIPort int    // 0 picks a free one
}

// ServerStarter starts a server and returns its base URL when it is healthy. Stop ends it in order, within the time of
// its context; runs that are not done go on when a server starts on the same data directory again.
type ServerStarter func(ctx context.Context, o DevOptions) (url string, stop func(context.Context) error, err error)

// globals are the flags that every command has.
type globals struct {
	config  string
	dataDir string
	chosen  bool // dataDir was given, by flag or environment
}

const (
	defaultDataDir = ".deerflow"
	defaultServer  = "http://127.0.0.1:2026"
)

// resolve fills in what flags leave open from the environment, then the defaults.
func (g *globals) resolve(env func(string) string) {
	g.config = firstOf(g.config, env("DEERFLOW_CONFIG"), env("DEER_FLOW_CONFIG_PATH"))
	g.chosen = firstOf(g.dataDir, env("DEERFLOW_DATA_DIR")) != ""
	g.dataDir = firstOf(g.dataDir, env("DEERFLOW_DATA_DIR"), defaultDataDir)
}

// usualServer is what is asked when nothing names a server. Whoever chooses a data directory means the server on that.
func (g *globals) usualServer(app App) string {
	if g.chosen {
		return ""
	}
	return app.DefaultServer
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			return v
		}
	}
	return ""
}
