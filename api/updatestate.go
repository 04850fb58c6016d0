package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

const (
	maxTitle = 1000 // characters
	// maxUpdate is how many bytes of messages an update of the state may bring:
	// it travels through the history of the thread.
	maxUpdate = 64 << 10
)

// updateState changes channels of a thread that no run is active on, and answers
// with the state that came of it.
func (s *Server) updateState(c echo.Context) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	checkpoint, err := parseCheckpoint(c.Param("thread"), body)
	if err != nil {
		return err
	}
	body.text("as_node") // whoever is named: the channels are replaced all the same
	update, err := parseUpdate(body)
	if err != nil {
		return err
	}
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Request().Context())
	if err := s.checkHead(ctx, &t, checkpoint); err != nil {
		return err
	}
	if active, err := s.activeRun(ctx, t.ID); err != nil {
		return err
	} else if active != "" {
		return s.inFlight(ctx, t.ID, "Cancel it, or wait for its end, before the state is changed.")
	}
	if _, err := s.o.Threads.UpdateState(ctx, t.User, t.ID, update); err != nil {
		return s.updateRefused(ctx, &t, err)
	}
	return s.getState(c)
}

// updateRefused turns the reason why an update was not taken into an answer.
func (s *Server) updateRefused(ctx context.Context, t *store.Thread, err error) error {
	no := refusal(err)
	switch {
	case errors.Is(err, threadclient.ErrNoWorker):
		return &apiError{
			status: http.StatusServiceUnavailable, detail: "No worker took the update in time: it may still be done",
			retry: 1, cause: err,
		}
	case no == nil:
		return temporalError(err)
	case no.Type == step.ErrBusy:
		return s.inFlight(ctx, t.ID, "Cancel it, or wait for its end, before the state is changed.")
	case no.Type == step.ErrCrowded:
		return crowded(no)
	case no.Type == step.ErrThreadGone:
		return threadNotFound(t.ID)
	case no.Type == step.ErrNewer:
		return &apiError{status: http.StatusConflict, detail: no.Reason, cause: err}
	}
	return &apiError{status: http.StatusUnprocessableEntity, detail: no.Reason, cause: err}
}

// parseUpdate reads values. Title and artifacts are replaced; messages are added,
// one whose id the thread knows takes the place of that one, one of type remove
// takes it out of view.
func parseUpdate(body object) (step.UpdateState, error) {
	update := step.UpdateState{ID: thread.UpdatePrefix + uuid.NewString()}
	values := body.child("values")
	if err := body.err(); err != nil {
		return update, err
	}
	if unknown := unknownChannels(values); len(unknown) > 0 {
		return update, fail(http.StatusUnprocessableEntity, "Unknown thread-state field(s): %s", strings.Join(unknown, ", "))
	}
	if values.get("title") != nil {
		title := strings.TrimSpace(values.text("title"))
		if utf8.RuneCountInString(title) > maxTitle {
			values.fault("title", "string_too_long", "A title has at most %d characters", maxTitle)
		}
		update.Title = &title
	}
	if values.get("artifacts") != nil {
		paths := values.texts("artifacts")
		if kept := thread.NewestPaths(paths); len(kept) < len(paths) {
			return update, fail(http.StatusRequestEntityTooLarge, "The artifacts have more than %d KiB of paths", thread.MaxArtifacts>>10)
		}
		update.Artifacts = &step.Replaced{Paths: paths}
	}
	if err := body.err(); err != nil {
		return update, err
	}
	return update, updateMessagesOf(&update, values.get("messages"))
}

// unknownChannels are the fields that an update may not name: those that no
// thread has, and those that only the server writes.
func unknownChannels(values object) []string {
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(values.raw)) {
		switch key {
		case "messages", "title", "artifacts":
		default:
			unknown = append(unknown, thread.Prefix(key, 80))
		}
	}
	return unknown
}

// removeAll is the id by which a client takes all messages out of view.
const removeAll = "__remove_all__"

// updateMessagesOf sorts messages into those to add and those to remove.
func updateMessagesOf(update *step.UpdateState, raw json.RawMessage) error {
	if len(raw) > maxUpdate {
		return fail(http.StatusRequestEntityTooLarge, "An update brings at most %d KiB of messages; start a run for longer ones", maxUpdate>>10)
	}
	var items []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &items) != nil {
		items = []json.RawMessage{raw} // one message, or none
	}
	kept := make([]json.RawMessage, 0, len(items))
	for _, item := range items {
		var removal struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		}
		switch {
		case json.Unmarshal(item, &removal) != nil || removal.Type != "remove":
			kept = append(kept, item)
		case removal.ID == removeAll:
			update.Clear, update.Remove, kept = true, nil, kept[:0]
		default:
			update.Remove = append(update.Remove, removal.ID)
		}
	}
	if len(raw) == 0 || len(kept) == 0 {
		return nil
	}
	list, err := json.Marshal(kept)
	if err != nil {
		return invalidField("value_error", err.Error(), "body", "values", "messages")
	}
	update.Messages, err = parseMessages(list, "body", "values", "messages")
	return err
}
