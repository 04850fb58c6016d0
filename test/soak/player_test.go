package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	. "deerflow/internal/testkit"
)

// script plays one thread: a person who does not give up when a connection
// breaks.
type script struct {
	*round
	ctx  context.Context
	rand *rand.Rand
	kind string
	name string
	id   string // of the thread

	readers sync.WaitGroup
	shown   screen
	sent    int
}

func (s *script) play() error {
	s.id = fmt.Sprintf("soak-%d-%s", s.seed, s.name)
	err := s.call(func(api *API) error {
		_, err := api.CreateThread(s.ctx, s.id, nil)
		if StatusOf(err) == http.StatusConflict {
			return nil // it was made before the connection broke
		}
		return err
	})
	if err == nil {
		err = s.talk()
	}
	s.readers.Wait()
	if err != nil {
		return err
	}
	return s.check()
}

// talk sends what the person has to say and waits for the ends.
func (s *script) talk() error {
	first, err := s.send(SayWatched(s.kind + " " + s.name))
	if err != nil {
		return err
	}
	switch s.kind {
	case "question":
		if err := s.ends(first, "success"); err != nil {
			return err
		}
		resume := Resume("everybody")
		resume.StreamMode = WatchModes()
		answer, err := s.send(resume)
		if err != nil {
			return err
		}
		return s.ends(answer, "success")
	case "queue":
		return s.queue(first)
	case "stop":
		return s.stop(first)
	}
	return s.ends(first, "success")
}

func (s *script) queue(first Run) error {
	runs := []Run{first}
	for _, text := range []string{"second ", "third "} {
		r := SayWatched(text + s.name)
		r.MultitaskStrategy = "enqueue"
		run, err := s.send(r)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	for _, run := range runs {
		if err := s.ends(run, "success"); err != nil {
			return err
		}
	}
	return nil
}

// stop stops a long answer at a random moment, and goes on.
func (s *script) stop(run Run) error {
	s.rest(time.Duration(s.rand.IntN(1500)) * time.Millisecond)
	err := s.call(func(api *API) error {
		err := api.CancelRun(s.ctx, s.id, run.RunID, CancelOptions{})
		if StatusOf(err) == http.StatusConflict {
			return nil // it has ended
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := s.ends(run, "interrupted", "success"); err != nil {
		return err
	}
	after, err := s.send(SayWatched("after " + s.name))
	if err != nil {
		return err
	}
	return s.ends(after, "success")
}

// send starts a run, once, however often it has to be sent, and follows it.
func (s *script) send(r RunRequest) (Run, error) {
	s.sent++
	key := fmt.Sprintf("%s-%d", s.name, s.sent)
	var run Run
	err := s.call(func(api *API) (err error) {
		run, err = api.WithHeader("Idempotency-Key", key).CreateRun(s.ctx, s.id, r)
		return err
	})
	if err != nil {
		return run, fmt.Errorf("send message %d: %w", s.sent, err)
	}
	s.mu.Lock()
	s.runs++
	s.mu.Unlock()
	s.readers.Go(func() {
		if err := s.follow(run); err != nil && s.t.Context().Err() == nil {
			s.count(&s.stuck, "%s: follow run %s: %v", s.name, run.RunID, err)
		}
	})
	return run, nil
}

func (s *script) ends(run Run, statuses ...string) error {
	return s.call(func(api *API) error {
		_, err := api.AwaitRun(s.ctx, s.id, run.RunID, statuses...)
		return err
	})
}

// call asks until there is an answer: a connection that breaks, and a server that
// says it is not there yet, are what this is about.
func (s *script) call(do func(api *API) error) error {
	for {
		apis := s.p.apis()
		err := do(apis[s.rand.IntN(len(apis))])
		if err == nil || !passing(s.ctx, err) {
			return err
		}
		s.rest(50 * time.Millisecond)
	}
}

// passing tells an error that goes away by itself.
func passing(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	switch StatusOf(err) {
	case 0:
		var ended interface{ Timeout() bool } // of the network, the only kind without a status but a run's
		return errors.As(err, &ended) || broken(err)
	case http.StatusServiceUnavailable:
		return true
	}
	return false
}

func (s *script) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}
