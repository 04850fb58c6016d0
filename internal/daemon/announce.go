package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Where says where the parts of a running process answer. It stands in
// <data>/server.json, so that commands and scripts find a server on free ports.
type Where struct {
	PID        int    `json:"pid"`
	URL        string `json:"url"`
	Temporal   string `json:"temporal"`
	TemporalUI string `json:"temporal_ui"`
}

// announce writes server.json as one step, and removes it at a stop.
func (d *Daemon) announce() error {
	path := filepath.Join(d.dataDir, serverFile)
	data, err := json.MarshalIndent(Where{PID: os.Getpid(), URL: d.URL, Temporal: d.Temporal, TemporalUI: d.TemporalUI}, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	d.later(func() { _ = os.Remove(path) })
	return nil
}

// answers waits until the API says 200 at a path: /health when all parts have to
// answer, /ok when the API itself is enough.
func (d *Daemon) answers(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	answer := "no answer"
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL+path, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
			answer = string(body)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server did not become healthy: %s", answer)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
