package locate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"deerflow/internal/cli"
)

// Options say where to look.
type Options struct {
	Server        string // base URL of the only server that will do; empty: look for one
	DataDir       string // where a server of this machine announces itself
	DefaultServer string // base URL that is asked when nothing else names a server; empty: only DataDir counts
	APIKey        string // for /info
	Program       string // how this program is called in advice; empty: deerflow
}

// Server is a DeerFlow server that answers.
type Server struct {
	URL        string
	TemporalUI string // base URL of the Temporal Web UI; empty: unknown
	Local      bool   // it works on DataDir of this machine
	apiKey     string
}

// ErrNone says that no server was named and none was found.
var ErrNone = errors.New("no DeerFlow server is running")

// Find gives the server: the one that is named and no other, else the one that DataDir/server.json announces, else the
// default one. Its error is [ErrNone], or a [*cli.ExitError] when the server that is meant is away or sick.
func Find(ctx context.Context, o Options) (*Server, error) {
	if o.Server != "" {
		url, err := address(o.Server)
		if err != nil {
			return nil, err
		}
		if _, err := Probe(ctx, url); err != nil {
			return nil, cli.Exitf(cli.ExitUnreachable, "no DeerFlow server at %s: %w; start one with '%s', or leave --server out", url, err, o.dev())
		}
		return &Server{URL: url, apiKey: o.APIKey}, nil
	}
	if a, err := ReadAnnouncement(o.DataDir); err == nil {
		if _, err := Probe(ctx, a.URL); IsServer(err) {
			return &Server{URL: a.URL, TemporalUI: a.TemporalUI, Local: true, apiKey: o.APIKey}, unhealthy(a.URL, err)
		}
	}
	if o.DefaultServer == "" {
		return nil, ErrNone
	}
	if _, err := Probe(ctx, o.DefaultServer); IsServer(err) {
		return &Server{URL: o.DefaultServer, apiKey: o.APIKey}, unhealthy(o.DefaultServer, err)
	}
	return nil, ErrNone
}

// address is the base URL of a server as a person has typed it.
func address(typed string) (string, error) {
	base := strings.TrimRight(strings.TrimSpace(typed), "/")
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", cli.Exitf(cli.ExitUsage, "the server address %q: want http://host:port, such as http://127.0.0.1:2026", typed)
	}
	return base, nil
}

// dev is the command that starts a server on the data directory that is meant.
func (o *Options) dev() string {
	command := cli.Quoted(cli.ProgramName(o.Program)) + " dev"
	if o.DefaultServer == "" && o.DataDir != "" {
		command += " --data-dir " + cli.Quoted(o.DataDir)
	}
	return command
}

// None is the error of a command that needs a server which [Find] has not found.
func (o *Options) None() error {
	if o.DefaultServer == "" {
		return cli.Exitf(cli.ExitUnreachable, "no DeerFlow server runs on the data directory %s; start one with '%s', or name one with --server", o.DataDir, o.dev())
	}
	return cli.Exitf(cli.ExitUnreachable, "no DeerFlow server at %s; start one with '%s'", o.DefaultServer, o.dev())
}

// Require is [Find] for commands that do not start a server of their own: none at all is an error that says what to do.
func Require(ctx context.Context, o Options) (*Server, error) {
	s, err := Find(ctx, o)
	if errors.Is(err, ErrNone) {
		return nil, o.None()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func unhealthy(url string, err error) error {
	if err == nil {
		return nil
	}
	return cli.Exitf(cli.ExitUnreachable, "the DeerFlow server at %s: %w", url, err)
}

// WorkflowLink is where the Temporal Web UI shows a thread; empty when that is unknown.
func (s *Server) WorkflowLink(ctx context.Context, threadID string) string {
	ui := s.TemporalUI
	if ui == "" {
		var info struct {
			TemporalUI string `json:"temporal_ui"`
		}
		if getJSON(ctx, s.URL+"/info", s.apiKey, &info) != nil || info.TemporalUI == "" {
			return ""
		}
		ui = info.TemporalUI
	}
	if strings.HasPrefix(ui, "/") {
		ui = s.URL + ui
	}
	return fmt.Sprintf("%s/namespaces/default/workflows/thread%%2F%s", strings.TrimRight(ui, "/"), threadID)
}
