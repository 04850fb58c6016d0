package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"deerflow/internal/sandbox"
)

// How long the provisioner may take.
const (
	createCall = 30 * time.Second
	deleteCall = 15 * time.Second
)

// maxMounts is how many mounts the provisioner takes for one machine.
const maxMounts = 10

// capacityCode is how a provisioner says that there is no room.
const capacityCode = "SANDBOX_CAPACITY_EXCEEDED"

// provisioner makes machines in a cluster.
type provisioner struct {
	base string
	key  string
	http *http.Client
}

type extraMount struct {
	HostPath      string `json:"host_path"`
	ContainerPath string `json:"container_path"`
	ReadOnly      bool   `json:"read_only"`
}

type createRequest struct {
	ID     string       `json:"sandbox_id"`
	Thread string       `json:"thread_id"`
	User   string       `json:"user_id"`
	Mounts []extraMount `json:"extra_mounts,omitempty"`
}

type provisioned struct {
	ID  string `json:"sandbox_id"`
	URL string `json:"sandbox_url"`
}

// create makes a machine, or finds the one that is there, and gives its address.
func (p *provisioner) create(ctx context.Context, in createRequest) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, createCall)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	var out provisioned
	if err := p.call(ctx, http.MethodPost, "/api/sandboxes", body, &out); err != nil {
		return "", fmt.Errorf("make a sandbox: %w", err)
	}
	u, err := url.Parse(out.URL)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("make a sandbox: the provisioner gave no address but %.80q", out.URL)
	}
	if out.ID != "" && out.ID != in.ID {
		return "", fmt.Errorf("make a sandbox: the provisioner gave %.40q instead of %s", out.ID, in.ID)
	}
	return strings.TrimRight(out.URL, "/"), nil
}

// remove ends a machine. It is no error when there is none.
func (p *provisioner) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, deleteCall)
	defer cancel()
	err := p.call(ctx, http.MethodDelete, "/api/sandboxes/"+id, nil, nil)
	var failed *replyError
	if errors.As(err, &failed) && failed.status == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end sandbox %s: %w", id, err)
	}
	return nil
}

func (p *provisioner) call(ctx context.Context, method, path string, body []byte, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, p.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-API-Key", p.key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.http.Do(r)
	if err != nil {
		return fmt.Errorf("the provisioner cannot be reached: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the answer of the provisioner: %w", err)
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return &sandbox.CommandError{Reason: "The sandbox provisioner refuses the key of this installation. The operator has to check sandbox.provisioner_api_key."}
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 400 && bytes.Contains(data, []byte(capacityCode)):
		return &sandbox.CommandError{Reason: "No sandbox is free at the moment, so commands cannot be run. Tell the user to try again later, or go on without commands."}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return &replyError{status: resp.StatusCode, message: string(data[:min(len(data), 300)])}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("the provisioner gave an answer that is not of its API: %w", err)
	}
	return nil
}
