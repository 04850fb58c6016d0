package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"deerflow/internal/cli"
)

// server is what a conversation is held with.
type server struct {
	url        string
	temporalUI string // base URL of the Temporal Web UI; empty: unknown
	local      bool   // it works on DataDir of this machine
	own        bool   // it was started for this conversation
	stop       func(context.Context) error
}

const (
	// serviceName is what our /health calls itself; others may listen on our port.
	serviceName = "deerflow"
	// probeTimeout is how long a server may take to answer /health, which itself waits up to two seconds for its parts.
	probeTimeout = 4 * time.Second
	// stopTimeout is how long our own server may take to stop.
	stopTimeout = 15 * time.Second
)

// locate finds the server: the one that is named and no other, else the one that DataDir/server.json announces, else the
// default one, else it starts one.
func (c *conversation) locate(ctx context.Context) (*server, error) {
	if c.o.Server != "" {
		url := strings.TrimRight(c.o.Server, "/")
		if err := probe(ctx, url); err != nil {
			return nil, cli.Exitf(cli.ExitUnreachable, "no DeerFlow server at %s: %w; start one with 'deerflow dev', or leave --server out", url, err)
		}
		return &server{url: url}, nil
	}
	announced, known := readAnnounced(c.o.DataDir)
	if known {
		if err := probe(ctx, announced.URL); isOurs(err) {
			return &server{url: announced.URL, temporalUI: announced.TemporalUI, local: true}, unhealthy(announced.URL, err)
		}
	}
	if err := probe(ctx, c.o.DefaultServer); isOurs(err) {
		return &server{url: c.o.DefaultServer}, unhealthy(c.o.DefaultServer, err)
	}
	return c.startOwn(ctx)
}

// startOwn starts a server for the time of the conversation.
func (c *conversation) startOwn(ctx context.Context) (*server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.o.StartServer == nil {
		return nil, cli.Exitf(cli.ExitUnreachable, "no DeerFlow server at %s; start one with 'deerflow dev'", c.o.DefaultServer)
	}
	c.progress.Info("No server is running: one is started on %s for this run.", c.o.DataDir)
	c.progress.Status("starting")
	url, stop, err := c.o.StartServer(ctx)
	if err != nil {
		return nil, &cli.ExitError{
			Code: cli.CodeOf(err, cli.ExitUnreachable), Err: fmt.Errorf("starting a server on %s: %w", c.o.DataDir, err),
		}
	}
	s := &server{url: url, local: true, own: true, stop: stop}
	if announced, ok := readAnnounced(c.o.DataDir); ok && announced.URL == url {
		s.temporalUI = announced.TemporalUI
	}
	return s, nil
}

// announcement is how a server tells of itself in its data directory.
type announcement struct {
	URL        string `json:"url"`
	TemporalUI string `json:"temporal_ui"`
}

// readAnnounced reads the announcement in a data directory. One that cannot be read is as good as none: a server that
// was killed leaves its own behind, too.
func readAnnounced(dataDir string) (announcement, bool) {
	var a announcement
	data, err := os.ReadFile(filepath.Join(dataDir, "server.json")) //nolint:gosec // the directory is the user's choice
	if err != nil || json.Unmarshal(data, &a) != nil || a.URL == "" {
		return announcement{}, false
	}
	a.URL = strings.TrimRight(a.URL, "/")
	return a, true
}

// unhealthyError is our own server's word that it lacks a part.
type unhealthyError struct{ detail string }

func (e *unhealthyError) Error() string { return "it is not healthy: " + e.detail }

// isOurs tells from the error of a probe whether a DeerFlow server answered, healthy or not.
func isOurs(err error) bool {
	var sick *unhealthyError
	return err == nil || errors.As(err, &sick)
}

func unhealthy(url string, err error) error {
	if err == nil {
		return nil
	}
	return cli.Exitf(cli.ExitUnreachable, "the DeerFlow server at %s: %w", url, err)
}

// probe asks whether a DeerFlow server answers at url: nil when it is healthy.
func probe(ctx context.Context, url string) error {
	var health struct {
		Service string `json:"service"`
		Status  string `json:"status"`
		Detail  string `json:"detail"`
	}
	if err := getJSON(ctx, url+"/health", "", &health); err != nil {
		return err
	}
	if health.Service != serviceName {
		return errors.New("what answers there is no DeerFlow server")
	}
	if health.Status != "healthy" {
		return &unhealthyError{detail: health.Detail}
	}
	return nil
}

// getJSON reads a small JSON answer, whatever its status.
func getJSON(ctx context.Context, url, apiKey string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	if apiKey != "" {
		req.Header.Set("X-Api-Key", apiKey)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("its answer (%s) is not JSON", res.Status)
	}
	return nil
}

// temporalLink is where the Temporal Web UI shows a thread; empty when that is unknown.
func (c *conversation) temporalLink(ctx context.Context) string {
	ui := c.server.temporalUI
	if ui == "" {
		var info struct {
			TemporalUI string `json:"temporal_ui"`
		}
		if getJSON(ctx, c.server.url+"/info", c.o.APIKey, &info) != nil || info.TemporalUI == "" {
			return ""
		}
		ui = info.TemporalUI
	}
	if strings.HasPrefix(ui, "/") {
		ui = c.server.url + ui
	}
	return strings.TrimRight(ui, "/") + "/namespaces/default/workflows/thread%2F" + c.threadID
}
