package middleware

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// LLMErrorHandling turns a model call that failed for good into a message that
// the user can read, so that a thread never dies of its provider. Retries are
// the activity's; here is only the pause that a provider asks for and that is
// too long to hide in a retry: it becomes a timer one can see.
type LLMErrorHandling struct{ Base }

// A provider that asks for longer is believed up to this, this many times.
const (
	longestPause = time.Hour
	mostPauses   = 5
)

// Name is LLMErrorHandling.
func (*LLMErrorHandling) Name() string { return NameLLMErrorHandling }

// AroundModel calls, waits as long as a provider asks, and answers with a
// fallback message when the call failed for good. A cancel passes through.
func (*LLMErrorHandling) AroundModel(ctx workflow.Context, run *Run, request *Request, next ModelCall) (ModelReply, error) {
	for pauses := 0; ; pauses++ {
		reply, err := next(ctx, request)
		if err == nil {
			return reply, nil
		}
		var cancelled *temporal.CanceledError
		if errors.As(err, &cancelled) || ctx.Err() != nil {
			return reply, err
		}
		failure, kind := failureOf(err)
		if kind == step.ErrThreadGone {
			return reply, err
		}
		if kind == step.ErrRateLimited && pauses < mostPauses {
			pause := min(time.Duration(failure.RetryAfter)*time.Second, longestPause)
			workflow.GetLogger(ctx).Warn("The provider asks for a pause", "pause", pause, "model", run.Plan.Model)
			timer := workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{
				Summary: fmt.Sprintf("%s asks to wait %s, then the call is made again", run.Plan.Model, pause),
			})
			if err := timer.Get(ctx, nil); err != nil {
				return reply, err
			}
			continue
		}
		message := fallback(run.Plan.Model, kind, failure)
		return ModelReply{Fallback: &message}, nil
	}
}

func failureOf(err error) (step.ModelFailure, string) {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		var f step.ModelFailure
		if app.HasDetails() && app.Details(&f) == nil && f.Message != "" {
			return f, app.Type()
		}
		return step.ModelFailure{Reason: "generic", Message: app.Message()}, app.Type()
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return step.ModelFailure{Reason: "transient", Message: "the model did not answer in time"}, step.ErrModel
	}
	return step.ModelFailure{Reason: "generic", Message: err.Error()}, step.ErrModel
}

// Sentences for the user, by reason. Each says what to do.
func sentence(model string, f step.ModelFailure) string {
	switch f.Reason {
	case "quota":
		return fmt.Sprintf("The account of model %q has no quota left, so I could not go on. Check its billing, then send a message to continue.", model)
	case "auth":
		return fmt.Sprintf("The provider of model %q refused our credentials. Check its API key in config.yaml, then send a message to continue.", model)
	case "burst_rate", "busy", "transient", "cut_stream", "idle_timeout":
		return fmt.Sprintf("Model %q could not be reached, also after several tries. Nothing is lost: send a message to continue.", model)
	case "context_length":
		return fmt.Sprintf("This conversation has grown beyond what model %q can read at once. Start a new thread, or choose a model with a larger window.", model)
	}
	return fmt.Sprintf("Model %q refused the request. Send a message to try again.", model)
}

func fallback(model, kind string, f step.ModelFailure) thread.Message {
	if kind == step.ErrContextLength {
		f.Reason = "context_length"
	}
	text := sentence(model, f)
	detail := thread.Prefix(f.Message, 500)
	if detail != "" {
		text += "\n\nThe provider said: " + detail
	}
	m := thread.Message{Role: thread.RoleAI, Content: thread.Text(text)}
	m.SetKwarg(thread.KeyErrorFallback, true)
	m.SetKwarg(thread.KeyErrorType, kind)
	m.SetKwarg(thread.KeyErrorReason, f.Reason)
	m.SetKwarg(thread.KeyErrorDetail, detail)
	return m
}
