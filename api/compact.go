package api

import (
	"context"
	"errors"
	"math"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

// compactShape is what a compaction did.
type compactShape struct {
	ThreadID       string  `json:"thread_id"`
	Compacted      bool    `json:"compacted"`
	Reason         *string `json:"reason"` // why nothing was done
	Removed        int     `json:"removed_message_count"`
	Preserved      int     `json:"preserved_message_count"`
	SummaryUpdated bool    `json:"summary_updated"`
	CheckpointID   *string `json:"checkpoint_id"`
	TotalTokens    int     `json:"total_tokens"`
}

// compact summarises the older messages of a thread that no run is active on.
// All of them stay listed; the model reads the summary in their place.
func (s *Server) compact(c echo.Context) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	k, err := parseCompact(body)
	if err != nil {
		return err
	}
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(c.Request().Context())
	if active, err := s.activeRun(ctx, t.ID); err != nil {
		return err
	} else if active != "" {
		return s.inFlight(ctx, t.ID, "Cancel it, or wait for its end, before the thread is compacted.")
	}
	out, err := s.o.Threads.Compact(ctx, t.User, t.ID, k)
	if err != nil {
		return s.compactRefused(ctx, &t, err)
	}
	return c.JSON(http.StatusOK, compactShape{
		ThreadID: t.ID, Compacted: out.Compacted, Reason: orNull(out.Reason), Removed: out.Removed, Preserved: out.Preserved,
		SummaryUpdated: out.SummaryUpdated, CheckpointID: orNull(out.CheckpointID), TotalTokens: out.TotalTokens,
	})
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func parseCompact(body object) (step.Compact, error) {
	k := step.Compact{
		ID: thread.UpdatePrefix + uuid.NewString(), Force: true,
		Keep: body.number("keep", 0, 1, math.MaxInt32),
	}
	if force := body.flag("force"); force != nil {
		k.Force = *force
	}
	for _, key := range []string{"model_name", "model"} {
		if k.Model == "" {
			k.Model = body.text(key)
		}
	}
	for _, key := range []string{"agent_name", "agent"} {
		if k.Options.AgentName == "" {
			k.Options.AgentName = body.text(key)
		}
	}
	if name := k.Options.AgentName; name != "" && !contextAgent.MatchString(name) {
		body.fault("agent_name", "string_pattern_mismatch", "An agent name has letters, digits and '-' only")
	}
	return k, body.err()
}

// compactRefused turns the reason why a thread was not compacted into an answer.
func (s *Server) compactRefused(ctx context.Context, t *store.Thread, err error) error {
	if no := refusal(err); no != nil && no.Type == step.ErrNoSummary {
		return &apiError{status: http.StatusInternalServerError, detail: no.Reason, cause: err}
	}
	if errors.Is(err, threadclient.ErrNoWorker) {
		return &apiError{
			status: http.StatusServiceUnavailable, detail: "The compaction took too long: it may still be done",
			retry: 1, cause: err,
		}
	}
	return s.updateRefused(ctx, t, err)
}
