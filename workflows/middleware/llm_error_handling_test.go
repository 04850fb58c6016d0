package middleware

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// inWorkflow runs fn as a workflow of its own, on a clock that skips waiting.
func inWorkflow(t *testing.T, fn func(ctx workflow.Context), prepare ...func(env *testsuite.TestWorkflowEnvironment)) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	for _, p := range prepare {
		p(env)
	}
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		fn(ctx)
		return nil
	})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
}

func modelRun() *Run { return &Run{Plan: &agent.Summary{Model: "gpt-5"}} }

// modelError is an error as the model activity ends with.
func modelError(kind string, f step.ModelFailure) error {
	return overTheWire(temporal.NewApplicationErrorWithOptions("chat: "+f.Message, kind, temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{f}}))
}

// overTheWire is an error as a workflow gets it from an activity.
func overTheWire(err error) error {
	c := temporal.GetDefaultFailureConverter()
	return c.FailureToError(c.ErrorToFailure(err))
}

func TestAFailedCallBecomesAMessage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		err    error
		reason string
		kind   string
		detail string
		says   []string // beside the model's name
	}{
		{"quota (C10)", modelError(step.ErrModel, step.ModelFailure{Reason: "quota", Message: "You exceeded your current quota"}), "quota", step.ErrModel, "You exceeded your current quota", []string{"quota", "Check its billing", "The provider said: You exceeded your current quota"}},
		{"auth (C10)", modelError(step.ErrModel, step.ModelFailure{Reason: "auth", Message: "Incorrect API key provided"}), "auth", step.ErrModel, "Incorrect API key provided", []string{"credentials", "Check its API key", "The provider said: Incorrect API key provided"}},
		{"bad request (C10)", modelError(step.ErrModel, step.ModelFailure{Reason: "bad_request", Message: "max_tokens is too large"}), "bad_request", step.ErrModel, "max_tokens is too large", []string{"does not accept the request", "Check the model's settings", "The provider said: max_tokens is too large"}},
		{"busy", modelError(step.ErrModel, step.ModelFailure{Reason: "busy", Message: "overloaded"}), "busy", step.ErrModel, "overloaded", []string{"could not be reached", "send a message to continue"}},
		{"transient", modelError(step.ErrModel, step.ModelFailure{Reason: "transient", Message: "502"}), "transient", step.ErrModel, "502", []string{"could not be reached", "send a message to continue"}},
		{"burst", modelError(step.ErrModel, step.ModelFailure{Reason: "burst_rate", Message: "x"}), "burst_rate", step.ErrModel, "x", []string{"could not be reached"}},
		{"cut stream", modelError(step.ErrModel, step.ModelFailure{Reason: "cut_stream", Message: "x"}), "cut_stream", step.ErrModel, "x", []string{"could not be reached"}},
		{"idle", modelError(step.ErrModel, step.ModelFailure{Reason: "idle_timeout", Message: "x"}), "idle_timeout", step.ErrModel, "x", []string{"fell silent", "smaller pieces"}},
		{"circuit open", modelError(step.ErrCircuitOpen, step.ModelFailure{Reason: "circuit_open", Message: "its provider has failed"}), "circuit_open", step.ErrCircuitOpen, "its provider has failed", []string{"given a rest", "What went wrong: its provider has failed"}},
		{"calls as text", modelError(step.ErrModel, step.ModelFailure{Reason: "unstructured_call", Message: "x"}), "unstructured_call", step.ErrModel, "x", []string{"as plain text", "Choose another model"}},
		{"generic", modelError(step.ErrModel, step.ModelFailure{Reason: "generic", Message: "strange"}), "generic", step.ErrModel, "strange", []string{"failed", "Send a message to try again"}},
		{"a reason of a newer version", modelError(step.ErrModel, step.ModelFailure{Reason: "new", Message: "strange"}), "new", step.ErrModel, "strange", []string{"failed", "Send a message to try again"}},
		{"context length", modelError(step.ErrContextLength, step.ModelFailure{Reason: "bad_request", Message: "too many tokens"}), "context_length", step.ErrContextLength, "too many tokens", []string{"grown beyond", "Start a new thread"}},
		{"context length without details", temporal.NewNonRetryableApplicationError("too long", step.ErrContextLength, nil), "context_length", step.ErrContextLength, "too long", []string{"Start a new thread", "What went wrong: too long"}},
		{"an error of ours", temporal.NewNonRetryableApplicationError("the database is locked", "Store", nil), "generic", "Store", "the database is locked", []string{"failed", "What went wrong: the database is locked"}},
		{"details that cannot be read", overTheWire(temporal.NewNonRetryableApplicationError("odd", step.ErrModel, nil, 5)), "generic", step.ErrModel, "odd", []string{"failed"}},
		{"no answer in time", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil), "transient", step.ErrModel, "the model did not answer in time", []string{"could not be reached", "What went wrong: the model did not answer in time"}},
		{"an error without a type", overTheWire(errors.New("strange")), "generic", step.ErrModel, "strange", []string{"failed", "What went wrong: strange"}},
		{"anything else", errors.New("strange"), "generic", step.ErrModel, "strange", []string{"failed", "What went wrong: strange"}},
		{"nothing to tell", modelError(step.ErrModel, step.ModelFailure{Reason: "busy"}), "generic", step.ErrModel, "chat: ", []string{"failed"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			var reply ModelReply
			var err error
			inWorkflow(t, func(ctx workflow.Context) {
				reply, err = (&LLMErrorHandling{}).AroundModel(ctx, modelRun(), &Request{}, func(workflow.Context, *Request) (ModelReply, error) {
					calls++
					return ModelReply{}, tc.err
				})
			})
			require.NoError(t, err)
			require.Equal(t, 1, calls, "retries are the activity's")
			m := reply.Fallback
			require.NotNil(t, m)
			require.Equal(t, thread.RoleAI, m.Role)
			text := m.Content.String()
			require.Contains(t, text, `"gpt-5"`)
			for _, say := range tc.says {
				require.Contains(t, text, say)
			}
			require.Equal(t, map[string]any{
				thread.KeyErrorFallback: true, thread.KeyErrorType: tc.kind, thread.KeyErrorReason: tc.reason, thread.KeyErrorDetail: tc.detail,
			}, m.AdditionalKwargs)
		})
	}
}

func TestALongDetailIsCut(t *testing.T) {
	t.Parallel()
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	f := failureOf(modelError(step.ErrModel, step.ModelFailure{Reason: "generic", Message: string(long)}))
	m := f.message("gpt-5")
	require.Len(t, m.AdditionalKwargs[thread.KeyErrorDetail], 500)
	require.Less(t, len(m.Content.String()), 700)
}

func TestAnAnswerPassesThrough(t *testing.T) {
	t.Parallel()
	inWorkflow(t, func(ctx workflow.Context) {
		want := ModelReply{CallModelResult: step.CallModelResult{FinishReason: "stop"}}
		reply, err := (&LLMErrorHandling{}).AroundModel(ctx, modelRun(), &Request{}, func(workflow.Context, *Request) (ModelReply, error) { return want, nil })
		require.NoError(t, err)
		require.Equal(t, want, reply)
	})
}

func TestWhatEndsARunPassesThrough(t *testing.T) {
	t.Parallel()
	for name, failed := range map[string]error{
		"a cancel":              temporal.NewCanceledError(),
		"a thread that is gone": temporal.NewNonRetryableApplicationError("deleted", step.ErrThreadGone, nil),
	} {
		inWorkflow(t, func(ctx workflow.Context) {
			reply, err := (&LLMErrorHandling{}).AroundModel(ctx, modelRun(), &Request{}, func(workflow.Context, *Request) (ModelReply, error) {
				return ModelReply{}, failed
			})
			require.ErrorIs(t, err, failed, name)
			require.Nil(t, reply.Fallback, name)
		})
	}
	inWorkflow(t, func(ctx workflow.Context) {
		ctx, cancel := workflow.WithCancel(ctx)
		reply, err := (&LLMErrorHandling{}).AroundModel(ctx, modelRun(), &Request{}, func(workflow.Context, *Request) (ModelReply, error) {
			cancel() // stopped while the call failed for another reason
			return ModelReply{}, modelError(step.ErrModel, step.ModelFailure{Reason: "busy", Message: "x"})
		})
		require.Error(t, err)
		require.Nil(t, reply.Fallback)
	})
}

func TestThePauseThatAProviderAsksFor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		seconds int
		want    time.Duration
	}{
		{61, 61 * time.Second},
		{3600, time.Hour},
		{3601, time.Hour},
		{math.MaxInt32, time.Hour},
		{math.MaxInt, time.Hour},
		{1, time.Second},
		{0, time.Second},
		{-5, time.Second},
	} {
		calls := 0
		inWorkflow(t, func(ctx workflow.Context) {
			start := workflow.Now(ctx)
			reply, err := (&LLMErrorHandling{}).AroundModel(ctx, modelRun(), &Request{NoTools: true}, func(_ workflow.Context, r *Request) (ModelReply, error) {
				calls++
				require.True(t, r.NoTools, "the same request is sent again")
				if calls == 1 {
					return ModelReply{}, modelError(step.ErrRateLimited, step.ModelFailure{Reason: "busy", Message: "slow down", RetryAfter: tc.seconds})
				}
				return ModelReply{CallModelResult: step.CallModelResult{FinishReason: "stop"}}, nil
			})
			require.NoError(t, err)
			require.Equal(t, "stop", reply.FinishReason)
			require.Equal(t, tc.want, workflow.Now(ctx).Sub(start), "asked for %d s", tc.seconds)
		})
		require.Equal(t, 2, calls)
	}
}

func TestAProviderThatAlwaysAsksForAPauseIsGivenUp(t *testing.T) {
	t.Parallel()
	calls := 0
	inWorkflow(t, func(ctx workflow.Context) {
		start := workflow.Now(ctx)
		reply, err := (&LLMErrorHandling{}).AroundModel(ctx, modelRun(), &Request{}, func(workflow.Context, *Request) (ModelReply, error) {
			calls++
			return ModelReply{}, modelError(step.ErrRateLimited, step.ModelFailure{Reason: "busy", Message: "slow down", RetryAfter: 100_000})
		})
		require.NoError(t, err)
		require.NotNil(t, reply.Fallback)
		require.Contains(t, reply.Fallback.Content.String(), "could not be reached")
		require.Equal(t, step.ErrRateLimited, reply.Fallback.AdditionalKwargs[thread.KeyErrorType])
		require.Equal(t, mostPauses*longestPause, workflow.Now(ctx).Sub(start))
	})
	require.Equal(t, mostPauses+1, calls)
}

func TestAPauseEndsWithACancel(t *testing.T) {
	t.Parallel()
	inWorkflow(t, func(ctx workflow.Context) {
		start := workflow.Now(ctx)
		reply, err := (&LLMErrorHandling{}).AroundModel(ctx, modelRun(), &Request{}, func(workflow.Context, *Request) (ModelReply, error) {
			return ModelReply{}, modelError(step.ErrRateLimited, step.ModelFailure{Reason: "busy", Message: "slow down", RetryAfter: 600})
		})
		var cancelled *temporal.CanceledError
		require.ErrorAs(t, err, &cancelled)
		require.Nil(t, reply.Fallback)
		require.Less(t, workflow.Now(ctx).Sub(start), 2*time.Minute)
	}, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	})
}
