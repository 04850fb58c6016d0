package activities

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"deerflow/config"
	"deerflow/internal/model"
)

// breakers hold a circuit breaker for each provider that this process calls
// (spec 4.8, C09). It opens when calls have failed for good several times in a
// row: new calls then fail at once instead of waiting through all their retries.
// After a while one call is let through to see. What is not the provider's
// outage (an empty account, a wrong key, a burst of our own, a stop) counts
// neither way, and gives the place of that call back.
type breakers struct {
	mu         sync.Mutex
	byProvider map[string]*breaker
}

type breaker = gobreaker.TwoStepCircuitBreaker[struct{}]

// errNotCounted stands for an end that says nothing about the provider.
var errNotCounted = errors.New("says nothing about the provider")

// of gives the breaker of a provider; settings that change make another one.
func (b *breakers) of(provider string, c config.CircuitBreaker) *breaker {
	key := fmt.Sprintf("%s %d %s", provider, c.FailureThreshold, c.RecoveryTimeout)
	b.mu.Lock()
	defer b.mu.Unlock()
	if known, ok := b.byProvider[key]; ok {
		return known
	}
	made := gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: provider, Timeout: c.RecoveryTimeout,
		ReadyToTrip: func(n gobreaker.Counts) bool { return int(n.ConsecutiveFailures) >= c.FailureThreshold },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNotCounted) },
	})
	if b.byProvider == nil {
		b.byProvider = map[string]*breaker{}
	}
	b.byProvider[key] = made
	return made
}

// attempt is one attempt of a call, as its breaker sees it. The zero value has
// no breaker.
type attempt struct {
	breaker *breaker
	probe   bool
	settle  func(error) // nil when nothing has to be told, or all was
}

// admit lets an attempt pass, or says that the provider is given a rest. Only
// the first attempt of a call is asked: a call that is at its retries goes on.
func admit(b *breaker, n int, rest time.Duration) (*attempt, error) {
	a := &attempt{breaker: b}
	if b == nil || n > 1 {
		return a, nil
	}
	a.probe = b.State() == gobreaker.StateHalfOpen
	settle, err := b.Allow()
	if err != nil {
		return nil, &model.Error{Class: model.ClassCircuitOpen, Message: fmt.Sprintf(
			"its provider has failed several times in a row, so it is called again in %s at the latest", rest)}
	}
	a.settle = settle
	return a, nil
}

// answering notes that the provider answers. The call that was let through to
// see has seen; it may go on for minutes.
func (a *attempt) answering() {
	if a.probe {
		a.report(nil)
	}
}

// ended notes the outcome. Last says that there is no attempt after this one.
func (a *attempt) ended(err error, last bool) {
	switch {
	case err == nil:
	case !outage(err), !last && !a.probe:
		err = errNotCounted
	}
	if a.breaker != nil && a.settle == nil && !a.probe && !errors.Is(err, errNotCounted) {
		// A later attempt has not asked. It counts all the same, unless the
		// breaker is open anyway.
		if settle, refused := a.breaker.Allow(); refused == nil {
			a.settle = settle
		}
	}
	a.report(err)
}

func (a *attempt) report(err error) {
	if a.settle != nil {
		a.settle(err)
		a.settle = nil
	}
}

// outage reports whether an error is the provider's, and may pass.
func outage(err error) bool {
	var me *model.Error
	if !errors.As(err, &me) || !me.Retryable {
		return false
	}
	switch me.Class {
	case model.ClassTransient, model.ClassBusy, model.ClassCutStream, model.ClassIdleTimeout:
		return true
	default:
		return false
	}
}
