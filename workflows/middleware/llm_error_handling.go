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
// the user can read, so that a thread never dies of its provider (spec 4.8).
// Retries are the activity's, and so are the breaker that gives a provider a rest
// and the limit of calls at once; here is only the pause that a provider asks for
// and that is too long to hide in a retry: it becomes a timer one can see.
//
// DeerFlow makes 3 attempts; here the default is the attempts of ten minutes, so
// that an outage of a minute is outlived, and llm_call.retry_max_attempts sets a
// number.
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
		failure := failureOf(err)
		if failure.kind == step.ErrThreadGone || failure.kind == step.ErrOvertaken {
			return reply, err
		}
		if failure.kind == step.ErrRateLimited && pauses < mostPauses {
			pause := pauseOf(failure.RetryAfter)
			workflow.GetLogger(ctx).Warn("The provider asks for a pause", "pause", pause, "model", run.Plan.Model)
			timer := workflow.NewTimerWithOptions(ctx, pause, workflow.TimerOptions{
				Summary: fmt.Sprintf("%s asks to wait %s, then the call is made again", run.Plan.Model, pause),
			})
			if err := timer.Get(ctx, nil); err != nil {
				return reply, err
			}
			continue
		}
		message := failure.message(run.Plan.Model)
		return ModelReply{Fallback: &message}, nil
	}
}

// pauseOf is how long to wait when a provider asks for some seconds.
func pauseOf(seconds int) time.Duration {
	return time.Duration(min(max(seconds, 1), int(longestPause/time.Second))) * time.Second
}

// failure is a model call that failed for good.
type failure struct {
	step.ModelFailure
	kind     string // one of the step.Err... types
	provider bool   // the message is the provider's own
}

func failureOf(err error) failure {
	var app *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &app):
		f := failure{kind: app.Type()}
		f.provider = f.kind != step.ErrCircuitOpen
		if !app.HasDetails() || app.Details(&f.ModelFailure) != nil || f.Message == "" {
			f.ModelFailure, f.provider = step.ModelFailure{Reason: "generic", Message: app.Message()}, false
		}
		switch f.kind {
		case step.ErrContextLength:
			f.Reason = "context_length"
		case "":
			f.kind = step.ErrModel
		}
		return f
	case errors.As(err, &timeout):
		return failure{ModelFailure: step.ModelFailure{Reason: "transient", Message: "the model did not answer in time"}, kind: step.ErrModel}
	}
	return failure{ModelFailure: step.ModelFailure{Reason: "generic", Message: err.Error()}, kind: step.ErrModel}
}

// sentence tells the user what happened to which model, and what to do.
func (f *failure) sentence(model string) string {
	switch f.Reason {
	case "quota":
		return fmt.Sprintf("The account of model %q has no quota left, so I could not go on. Check its billing, then send a message to continue.", model)
	case "auth":
		return fmt.Sprintf("The provider of model %q refused our credentials. Check its API key in config.yaml, then send a message to continue.", model)
	case "circuit_open":
		return fmt.Sprintf("Model %q has failed again and again, so it is given a rest and was not called. Nothing is lost: send a message in a minute to continue.", model)
	case "idle_timeout":
		return fmt.Sprintf("Model %q fell silent before its answer was whole, also when it was called again. This happens when an answer is very long: ask for smaller pieces, or send a message to try again.", model)
	case "burst_rate", "busy", "transient", "cut_stream":
		return fmt.Sprintf("Model %q could not be reached, also after several tries. Nothing is lost: send a message to continue.", model)
	case "context_length":
		return fmt.Sprintf("This conversation has grown beyond what model %q can read at once. Start a new thread, choose a model with a larger window, or go on here with a shorter message.", model)
	case "bad_request":
		return fmt.Sprintf("The provider of model %q does not accept the request. Check the model's settings in config.yaml, then send a message to try again.", model)
	case "unstructured_call":
		return fmt.Sprintf("Model %q wrote its tool calls as plain text, also after several tries, so none of them was run. Choose another model, or send a message to try again.", model)
	}
	return fmt.Sprintf("The call of model %q failed. Send a message to try again.", model)
}

// message is what stands in the transcript in place of an answer.
func (f *failure) message(model string) thread.Message {
	text := f.sentence(model)
	detail := thread.Prefix(f.Message, 500)
	switch {
	case detail == "":
	case f.provider:
		text += "\n\nThe provider said: " + detail
	default:
		text += "\n\nWhat went wrong: " + detail
	}
	m := thread.Message{Role: thread.RoleAI, Content: thread.Text(text)}
	m.SetKwarg(thread.KeyErrorFallback, true)
	m.SetKwarg(thread.KeyErrorType, f.kind)
	m.SetKwarg(thread.KeyErrorReason, f.Reason)
	m.SetKwarg(thread.KeyErrorDetail, detail)
	return m
}
