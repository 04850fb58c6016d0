package testkit

import (
	"context"
	"net/http"
	"net/url"
)

// JoinThread opens the event stream of a thread, after lastEventID: "" means
// from now on, "-1" from the start.
func (a *API) JoinThread(ctx context.Context, threadID, lastEventID string, modes ...string) (*SSE, error) {
	query := url.Values{"stream_mode": modes}.Encode()
	return a.openStream(ctx, http.MethodGet, threadPath(threadID)+"/stream?"+query, nil, lastEventID)
}

// CopyThread makes a thread with what another one has.
func (a *API) CopyThread(ctx context.Context, threadID string) (Thread, error) {
	var copied Thread
	_, err := a.Do(ctx, http.MethodPost, threadPath(threadID)+"/copy", nil, &copied)
	return copied, err
}
