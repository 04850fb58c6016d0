package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"deerflow/internal/sandbox"
)

// maxReply bounds an answer in bytes; the output of a command may be written with
// six bytes for one.
const maxReply = 96 << 20

// aboutTimeout bounds the question whether a machine is there.
const aboutTimeout = 5 * time.Second

// What an exchange can come to, beside an answer. Each is found with errors.Is.
var (
	// errLost: nobody is there, so nothing was done.
	errLost = errors.New("the machine is gone")
	// errNoEndpoint: the machine is there, but does not know the call.
	errNoEndpoint = errors.New("the machine does not have this call")
	errTooMuch    = errors.New("the answer of the machine is too long")
)

// replyError is an answer that says that it did not work.
type replyError struct {
	status  int
	message string
}

func (e *replyError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("the machine answered %d", e.status)
	}
	return fmt.Sprintf("the machine answered %d: %.500s", e.status, e.message)
}

// api speaks to one machine.
type api struct {
	base string
	key  string
	http *http.Client
}

// envelope is around every answer.
type envelope struct {
	Success *bool           `json:"success"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail"` // of an error of the server's own
	Data    json.RawMessage `json:"data"`
}

// call sends a request and reads the data of the answer into out, if that is not nil.
func (a *api) call(ctx context.Context, method, path string, body io.Reader, out any) error {
	resp, err := a.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return fmt.Errorf("read the answer of the machine: %w", err)
	}
	if len(data) > maxReply {
		return errTooMuch
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil || e.Success == nil && resp.StatusCode == http.StatusOK {
		if resp.StatusCode == http.StatusOK {
			return fmt.Errorf("the machine gave an answer that is not of its API: %.80q", data)
		}
		e = envelope{Message: string(data[:min(len(data), 200)])}
	}
	if resp.StatusCode != http.StatusOK || !*e.Success {
		return a.failure(ctx, resp.StatusCode, e)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(e.Data, out); err != nil {
		return fmt.Errorf("the machine gave an answer that is not of its API: %w", err)
	}
	return nil
}

// failure tells what an answer means that is no success.
func (a *api) failure(ctx context.Context, status int, e envelope) error {
	switch {
	case e.Success != nil:
		return &replyError{status: status, message: e.Message}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &sandbox.CommandError{Reason: "The sandbox refuses the key of this installation. The operator has to check sandbox.api_key."}
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone:
		// Of the machine, or of what stands in front of one that is gone?
		if _, err := a.about(ctx); err != nil {
			return err
		}
		return errNoEndpoint
	}
	return &replyError{status: status, message: e.Message + string(e.Detail)}
}

// post sends a request with a JSON body.
func (a *api) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return a.call(ctx, http.MethodPost, path, bytes.NewReader(body), out)
}

// send sends a request. The error is [errLost] when nobody took it.
func (a *api) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
		r.Header.Set("X-Api-Key", a.key)
	}
	resp, err := a.http.Do(r)
	var dial *net.OpError
	switch {
	case err == nil:
		return resp, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &dial) && dial.Op == "dial":
		return nil, fmt.Errorf("%w: %w", errLost, dial) // what is around it only names the call
	}
	return nil, err
}

// about is what a machine says of itself.
type about struct {
	Home string `json:"home_dir"`
}

// about asks the machine whether it is there.
func (a *api) about(ctx context.Context) (about, error) {
	ctx, cancel := context.WithTimeout(ctx, aboutTimeout)
	defer cancel()
	resp, err := a.send(ctx, http.MethodGet, "/v1/sandbox", nil)
	if err != nil {
		return about{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return about{}, errLost
	case http.StatusUnauthorized, http.StatusForbidden:
		return about{}, a.failure(ctx, resp.StatusCode, envelope{})
	default:
		return about{}, &replyError{status: resp.StatusCode}
	}
	// Older machines answer without an envelope; that it is there is what counts.
	var e struct {
		about
		Data about `json:"data"`
	}
	_ = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&e)
	if e.Data.Home != "" {
		return e.Data, nil
	}
	return e.about, nil
}
