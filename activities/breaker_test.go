package activities

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"deerflow/config"
	"deerflow/internal/model"
	"deerflow/internal/step"
)

func down() error { return &model.Error{Class: model.ClassTransient, Status: 503, Retryable: true} }

// opened is a breaker that so many failures have opened.
func opened(t *testing.T, failures int) *breaker {
	t.Helper()
	b := new(breakers).of("p", config.CircuitBreaker{FailureThreshold: failures, RecoveryTimeout: time.Minute})
	for range failures {
		fails(t, b, down(), true)
	}
	refused(t, b)
	return b
}

// fails is a call whose first attempt ends with an error.
func fails(t *testing.T, b *breaker, err error, last bool) {
	t.Helper()
	a, refusal := admit(b, 1, time.Minute)
	require.NoError(t, refusal)
	a.ended(err, last)
}

func refused(t *testing.T, b *breaker) {
	t.Helper()
	_, err := admit(b, 1, time.Minute)
	var me *model.Error
	require.ErrorAs(t, err, &me)
	require.Equal(t, model.ClassCircuitOpen, me.Class)
	require.False(t, me.Retryable, "no endless retry")
}

func TestC09WhatOpensABreaker(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		last bool
		open bool
	}{
		"outage":            {down(), true, true},
		"busy":              {&model.Error{Class: model.ClassBusy, Retryable: true}, true, true},
		"cut streams":       {&model.Error{Class: model.ClassCutStream, Retryable: true}, true, true},
		"silence":           {&model.Error{Class: model.ClassIdleTimeout, Retryable: true}, true, true},
		"tried again":       {down(), false, false},
		"quota":             {&model.Error{Class: model.ClassQuota}, true, false},
		"auth":              {&model.Error{Class: model.ClassAuth, Status: 401}, true, false},
		"bad request":       {&model.Error{Class: model.ClassBadRequest}, true, false},
		"too long":          {&model.Error{Class: model.ClassContextLength}, true, false},
		"burst":             {&model.Error{Class: model.ClassBurstRate, Retryable: true}, true, false},
		"calls as text":     {&model.Error{Class: model.ClassUnstructuredCall, Retryable: true}, true, false},
		"a stop":            {context.Canceled, true, false},
		"a fault of ours":   {errors.New("database is locked"), true, false},
		"answers":           {nil, true, false},
		"a strange refusal": {&model.Error{Class: model.ClassGeneric}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := new(breakers).of("p", config.CircuitBreaker{FailureThreshold: 3, RecoveryTimeout: time.Minute})
			for range 3 {
				fails(t, b, tc.err, tc.last)
			}
			if tc.open {
				refused(t, b)
				return
			}
			fails(t, b, tc.err, tc.last)
		})
	}
}

func TestAnAnswerBetweenKeepsABreakerClosed(t *testing.T) {
	t.Parallel()
	b := new(breakers).of("p", config.CircuitBreaker{FailureThreshold: 2, RecoveryTimeout: time.Minute})
	for range 5 {
		fails(t, b, down(), true)
		fails(t, b, &model.Error{Class: model.ClassAuth}, true) // says nothing either way
		fails(t, b, nil, true)
	}
}

func TestALaterAttemptCounts(t *testing.T) {
	t.Parallel()
	b := new(breakers).of("p", config.CircuitBreaker{FailureThreshold: 2, RecoveryTimeout: time.Minute})
	for range 2 {
		for n := 1; n <= 3; n++ {
			a, err := admit(b, n, time.Minute)
			require.NoError(t, err)
			a.ended(down(), n == 3)
		}
	}
	refused(t, b)
	a, err := admit(b, 2, time.Minute)
	require.NoError(t, err, "a call that is at its retries goes on")
	a.ended(nil, true)
	refused(t, b)
}

func TestC09TheProbe(t *testing.T) {
	t.Parallel()
	probe := func(t *testing.T, b *breaker) *attempt {
		t.Helper()
		a, err := admit(b, 1, time.Minute)
		require.NoError(t, err)
		refused(t, b) // exactly one
		return a
	}
	for name, tc := range map[string]struct {
		err  error
		last bool
		// after the probe: open again, half open still, or closed
		open, half bool
	}{
		"an answer closes":         {},
		"an outage opens":          {err: down(), open: true},
		"an outage for good opens": {err: down(), last: true, open: true},
		"401 frees the place":      {err: &model.Error{Class: model.ClassAuth, Status: 401}, last: true, half: true},
		"quota frees the place":    {err: &model.Error{Class: model.ClassQuota}, last: true, half: true},
		"a burst frees the place":  {err: &model.Error{Class: model.ClassBurstRate, Retryable: true}, half: true},
		"a stop frees the place":   {err: context.Canceled, last: true, half: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := opened(t, 3)
				time.Sleep(time.Minute + time.Second) // on the clock of the test
				probe(t, b).ended(tc.err, tc.last)
				switch {
				case tc.open:
					refused(t, b)
					time.Sleep(time.Minute + time.Second)
					probe(t, b).ended(nil, true)
				case tc.half:
					probe(t, b).ended(nil, true)
				}
				first, err := admit(b, 1, time.Minute)
				require.NoError(t, err)
				second, err := admit(b, 1, time.Minute)
				require.NoError(t, err, "closed: all pass")
				first.ended(nil, true)
				second.ended(nil, true)
			})
		})
	}
}

func TestAProbeThatIsAnsweredHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, 1)
		time.Sleep(time.Minute + time.Second)
		long, err := admit(b, 1, time.Minute)
		require.NoError(t, err)
		refused(t, b)
		long.answering()
		other, err := admit(b, 1, time.Minute)
		require.NoError(t, err, "its answer may take minutes")
		other.ended(nil, true)
		long.answering()
		long.ended(down(), false)
		fails(t, b, nil, true) // an answer that is cut is tried again: it opens nothing yet
	})
}

func TestC09BreakersAreAProvidersOwn(t *testing.T) {
	t.Parallel()
	var all breakers
	rule := config.CircuitBreaker{FailureThreshold: 1, RecoveryTimeout: time.Minute}
	fails(t, all.of("a", rule), down(), true)
	refused(t, all.of("a", rule))
	fails(t, all.of("b", rule), nil, true)
	rule.FailureThreshold = 5
	fails(t, all.of("a", rule), nil, true) // settings that change begin anew
}

// In the activity: a provider that is down for good is not called any more, and
// the error says so.
func TestC09AnOpenBreakerEndsTheCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.LLMCall.RetryMaxAttempts = 1
	w.cfg.CircuitBreaker = config.CircuitBreaker{FailureThreshold: 2, RecoveryTimeout: time.Hour}
	w.start("t2", "r2", "hello") // a plan with these settings
	w.answer = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) }
	in := w.modelInput()
	in.Ref, in.MessageID, in.PlanHash = ref("t2", "r2", 1), "r2-1", w.started.PlanHash
	call := func() *temporal.ApplicationError {
		_, err := w.env.ExecuteActivity(step.CallModel, in)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.True(t, app.NonRetryable())
		return app
	}
	for range 2 {
		require.Equal(t, step.ErrModel, call().Type())
	}
	require.Equal(t, 2, w.asked)
	app := call()
	require.Equal(t, step.ErrCircuitOpen, app.Type())
	var f step.ModelFailure
	require.NoError(t, app.Details(&f))
	require.Equal(t, "circuit_open", f.Reason)
	require.Equal(t, 2, w.asked, "the provider is left alone")
}
