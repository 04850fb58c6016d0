package locate

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
)

const (
	// serviceName is what our /health calls itself; others may listen on our port.
	serviceName = "deerflow"
	// probeTimeout is how long a server may take to answer /health, which itself waits up to two seconds for its parts.
	probeTimeout = 4 * time.Second
)

// Announcement is how a server tells of itself in its data directory.
type Announcement struct {
	PID        int    `json:"pid"`
	URL        string `json:"url"`
	Temporal   string `json:"temporal"` // host:port of its gRPC frontend
	TemporalUI string `json:"temporal_ui"`
}

// ReadAnnouncement reads DataDir/server.json. That it is there does not say that the server runs: one that was killed
// leaves its own behind.
func ReadAnnouncement(dataDir string) (Announcement, error) {
	path := filepath.Join(dataDir, "server.json")
	data, err := os.ReadFile(path) //nolint:gosec // the directory is the user's choice
	if err != nil {
		return Announcement{}, err
	}
	var a Announcement
	if err := json.Unmarshal(data, &a); err != nil {
		return Announcement{}, fmt.Errorf("decode %s: %w", path, err)
	}
	if a.URL == "" {
		return Announcement{}, fmt.Errorf("%s names no url", path)
	}
	a.URL = strings.TrimRight(a.URL, "/")
	return a, nil
}

// Health is what a server says of itself.
type Health struct {
	Service string            `json:"service"`
	Status  string            `json:"status"` // healthy or unhealthy
	Version string            `json:"version"`
	Detail  string            `json:"detail"`
	Parts   map[string]string `json:"parts"` // "ok", or what is wrong
}

// SickError is a DeerFlow server's own word that it lacks a part.
type SickError struct{ Detail string }

// Error says which part is away.
func (e *SickError) Error() string { return "it is not healthy: " + e.Detail }

// IsServer tells from the error of a [Probe] whether a DeerFlow server answered, healthy or not.
func IsServer(err error) bool {
	var sick *SickError
	return err == nil || errors.As(err, &sick)
}

// Probe asks whether a DeerFlow server answers at url. The error is nil when it is healthy, a [*SickError] when it says
// that it is not.
func Probe(ctx context.Context, url string) (Health, error) {
	var h Health
	if err := getJSON(ctx, url+"/health", "", &h); err != nil {
		return h, err
	}
	if h.Service != serviceName {
		return h, errors.New("what answers there is no DeerFlow server")
	}
	if h.Status != "healthy" {
		return h, &SickError{Detail: h.Detail}
	}
	return h, nil
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
