package conversation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// early ends a conversation that has not sent anything.
func (c *conversation) early(ctx context.Context, err error) error {
	c.progress.Idle()
	if code, cause := left(ctx); cause != nil {
		return cli.Exitf(code, "%w: nothing was started", cause)
	}
	return Classify(err)
}

// end closes a conversation: it prints what there is and turns the outcome into an exit code.
func (c *conversation) end(ctx context.Context, err error) error {
	c.progress.Idle()
	code, cause := left(ctx)
	switch {
	case err == nil:
		return c.finish(ctx)
	case errors.Is(err, cli.ErrNoAnswer):
		return c.waiting(ctx)
	case cause != nil && c.run.ID == "":
		return c.leaveUnsure(cause, code)
	case cause != nil:
		return c.leave(ctx, cause, code)
	}
	var busy *client.StatusError
	if errors.As(err, &busy) && errors.Is(err, client.ErrConflict) && busy.RunID != "" {
		return cli.Exitf(cli.ExitFailed, "%w; follow the run that is active with: %s", err, c.comeBack())
	}
	switch {
	case c.run.ID != "" && !c.run.Status.Terminal():
		c.progress.Note("The run is not affected. %s", c.howToComeBack())
	case c.waits():
		c.progress.Note("Your answer did not arrive. %s", c.howToAnswer())
	}
	return Classify(err)
}

// finish prints the result of a run that has ended.
func (c *conversation) finish(ctx context.Context) error {
	r := c.result()
	c.addFiles(ctx, &r)
	if err := c.print(&r); err != nil {
		return err
	}
	switch c.run.Status {
	case thread.RunError:
		return cli.Exitf(cli.ExitFailed, "the run failed: %s", r.Error)
	case thread.RunTimeout:
		return cli.Exitf(cli.ExitTimeout, "the run took longer than it may: %s", r.Error)
	case thread.RunInterrupted:
		return cli.Exitf(cli.ExitInterrupted, "the run was stopped; say what to do next with: %s", c.command(`"..."`))
	default:
		return c.done(&r)
	}
}

// done is the outcome of a run that ended well, or early.
func (c *conversation) done(r *Result) error {
	if r.StopReason != "" {
		return cli.Exitf(cli.ExitPartial, "the run ended early (%s): the result may be incomplete; go on with: %s", r.StopReason, c.command(`"go on"`))
	}
	if r.Answer == "" && len(r.Files) == 0 {
		c.progress.Note("The run ended without an answer.")
	}
	return nil
}

// waiting ends a conversation whose question nobody answered. The thread waits on.
func (c *conversation) waiting(ctx context.Context) error {
	r := c.result()
	c.addFiles(ctx, &r)
	if err := c.print(&r); err != nil {
		return err
	}
	c.progress.Note("%s", c.howToAnswer())
	return &cli.ExitError{Code: cli.ExitWaiting}
}

// leave ends a conversation before its run has ended, or its question was answered: the run goes on, the question stays
// open, unless the run shall be cancelled.
func (c *conversation) leave(ctx context.Context, cause error, code cli.ExitCode) error {
	if c.o.CancelOnInterrupt && !errors.Is(cause, errGone) {
		return c.cancel(ctx, cause, code)
	}
	r := c.result()
	if err := c.print(&r); err != nil {
		return err
	}
	how := c.howToComeBack()
	if c.waits() {
		how = c.howToAnswer()
	}
	c.progress.Note("%s. %s", capital(cause.Error()), how)
	return &cli.ExitError{Code: code}
}

// cancelTimeout is how long a run may take to stop.
const cancelTimeout = 30 * time.Second

// cancel ends a conversation with its run.
func (c *conversation) cancel(ctx context.Context, cause error, code cli.ExitCode) error {
	c.progress.Status("cancelling the run")
	ctx, stop := lastWords(ctx, cancelTimeout)
	defer stop()
	err := c.client.CancelRun(ctx, c.threadID, c.run.ID, client.CancelOptions{Wait: true})
	if errors.Is(err, client.ErrConflict) {
		err = nil // it had ended by itself
	}
	if err == nil {
		err = c.look(ctx)
	}
	c.progress.Idle()
	if err != nil {
		c.progress.Note("The run could not be cancelled. %s", c.howToComeBack())
		return &cli.ExitError{Code: code, Err: fmt.Errorf("cancelling run %s: %w", c.run.ID, err)}
	}
	r := c.result()
	c.addFiles(ctx, &r)
	if err := c.print(&r); err != nil {
		return err
	}
	c.progress.Note("%s: the run is %s.", capital(cause.Error()), cancelled(c.run.Status))
	return &cli.ExitError{Code: code}
}

func cancelled(s thread.RunStatus) string {
	if s == thread.RunInterrupted {
		return "cancelled"
	}
	return "over; it ended with " + string(s)
}

// leaveUnsure ends a conversation while its request was under way: nobody knows whether there is a run.
func (c *conversation) leaveUnsure(cause error, code cli.ExitCode) error {
	if c.threadID == "" {
		return cli.Exitf(code, "%w: nothing was started", cause)
	}
	c.progress.Note("%s before the server had confirmed the run. If it was started, this leads back to it:\n  %s",
		capital(cause.Error()), c.comeBack())
	return &cli.ExitError{Code: code}
}

// Classify gives an error of the HTTP API its exit code; one that has a code keeps it.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	var exit *cli.ExitError
	if errors.As(err, &exit) {
		return err
	}
	code := cli.ExitFailed
	var status *client.StatusError
	switch {
	case errors.Is(err, client.ErrUnauthorized):
		return cli.Exitf(cli.ExitAuth, "%w; set --api-key or DEERFLOW_API_KEY", err)
	case errors.Is(err, client.ErrForbidden):
		code = cli.ExitAuth
	case errors.Is(err, client.ErrNotFound):
		code = cli.ExitNotFound
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, client.ErrUnavailable):
		code = cli.ExitUnreachable
	case errors.As(err, &status) && isRefusal(status.Status):
		code = cli.ExitUsage
	}
	return &cli.ExitError{Code: code, Err: err}
}

// isRefusal tells answers that find fault with the request.
func isRefusal(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity
}
