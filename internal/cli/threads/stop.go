package threads

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"deerflow/internal/cli"
	"deerflow/internal/cli/conversation"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// Cancel stops the runs of a thread that are active or queued, or closes the question that it waits with, and waits
// until that is done. With rollback the thread is as it was before its run. That there was nothing to stop is an error.
func (s *Session) Cancel(ctx context.Context, id string, rollback bool) error {
	t, err := s.Find(ctx, id)
	if err != nil {
		return err
	}
	runs, err := s.client.ListRuns(ctx, t.ID)
	if err != nil {
		return conversation.Classify(err)
	}
	o := client.CancelOptions{Action: thread.CancelInterrupt, Wait: true}
	if rollback {
		o.Action = thread.CancelRollback
	}
	// Newest first: a queued run must not start because the one before it was stopped.
	done := 0
	for i := range runs {
		if runs[i].Status.Terminal() {
			continue
		}
		err := s.client.CancelRun(ctx, t.ID, runs[i].ID, o)
		if errors.Is(err, client.ErrConflict) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return conversation.Classify(err)
		}
		done++
		s.note("Run %s is cancelled.", runs[i].ID)
	}
	if done > 0 {
		return nil
	}
	if len(runs) > 0 && len(t.Questions()) > 0 {
		if err := s.client.CancelRun(ctx, t.ID, runs[0].ID, o); err != nil {
			return conversation.Classify(err)
		}
		s.note("The question of thread %s is closed.", t.ID)
		return nil
	}
	return cli.Exitf(cli.ExitFailed, "thread %s has no active run and no open question: nothing was cancelled", t.ID)
}

// DeleteOptions say whether a person has to agree.
type DeleteOptions struct {
	Yes bool // nobody is asked
}

// Delete removes a thread with its messages and files. A person at a terminal is asked first; others must have said yes
// beforehand.
func (s *Session) Delete(ctx context.Context, id string, o DeleteOptions) error {
	if !o.Yes && !s.o.InIsTTY {
		return cli.Exitf(cli.ExitUsage, "deleting thread %s needs --yes: standard input is no terminal to ask at", id)
	}
	t, err := s.Find(ctx, id)
	if err != nil {
		return err
	}
	if !o.Yes {
		if err := s.agree(ctx, &t); err != nil {
			return err
		}
	}
	err = s.client.DeleteThread(ctx, t.ID)
	if errors.Is(err, client.ErrConflict) {
		return cli.Exitf(cli.ExitFailed, "thread %s has an active run; cancel it first with: %s threads cancel %s", t.ID, s.program(), t.ID)
	}
	if err != nil {
		return conversation.Classify(err)
	}
	s.note("Thread %s is deleted.", t.ID)
	return nil
}

// agree asks for a yes. Anything else is an error.
func (s *Session) agree(ctx context.Context, t *client.Thread) error {
	title := titleOf(&t.Values)
	if title != "" {
		title = fmt.Sprintf(" %q", cli.Cut(title, maxTitle))
	}
	_, _ = fmt.Fprintf(s.o.ErrOut, "Delete thread %s%s with %d messages and all its files? This cannot be undone. [y/N] ",
		t.ID, title, len(t.Values.Messages))
	text, err := cli.NewLineReader(s.o.In).Line(ctx)
	if err != nil && text == "" && ctx.Err() != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return nil
	}
	return cli.Exitf(cli.ExitFailed, "nothing was deleted")
}

// Send says text in a thread, or answers its question, and does not wait for what comes of it.
func (s *Session) Send(ctx context.Context, id, text string) error {
	t, err := s.Find(ctx, id)
	if err != nil {
		return err
	}
	request, err := conversation.Reply(t.Questions(), text)
	if err != nil {
		return err
	}
	run, err := s.client.StartRun(ctx, t.ID, request)
	if err != nil {
		return conversation.Classify(fmt.Errorf("starting a run in thread %s: %w", t.ID, err))
	}
	s.note("Run %s of thread %s has begun. Follow it with: %s threads watch %s", run.ID, t.ID, s.program(), t.ID)
	return nil
}
