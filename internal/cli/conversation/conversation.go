package conversation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// conversation is one call of [Run].
type conversation struct {
	o        *Options
	question string
	files    []string

	server   *server
	client   *client.Client
	progress *cli.Progress
	narrator *cli.Narrator
	prompter *cli.Prompter
	link     connection

	threadID  string
	run       client.Run       // the newest one of this conversation
	state     client.State     // as of the run's end
	usage     map[string]Usage // of the runs of this conversation, by id
	presented []string         // virtual paths that were presented while we looked
	failure   string           // what an error event said
}

// Run holds a conversation. Its error is a [*cli.ExitError], or nil when a run has ended well.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	ctx, done := o.leavable(ctx)
	defer done()
	progress := cli.NewProgress(cli.ProgressOptions{Streams: o.IOStreams, Env: o.Env, Quiet: o.Quiet, Now: o.Now})
	defer progress.Close()
	c := &conversation{
		o: &o, progress: progress, usage: map[string]Usage{},
		narrator: &cli.Narrator{Progress: progress, Replay: o.Attach, Now: o.Now},
		prompter: &cli.Prompter{Lines: cli.NewLineReader(o.In), Progress: progress, IsTTY: o.InIsTTY, NoInput: o.NoInput},
	}
	if err := c.prepare(ctx); err != nil {
		return c.early(ctx, err)
	}
	ctx, c.link.giveUp = context.WithCancelCause(ctx)
	defer c.link.giveUp(nil)
	if err := c.connect(ctx); err != nil {
		return c.early(ctx, err)
	}
	defer c.disconnect(ctx)
	return c.end(ctx, c.converse(ctx))
}

// prepare reads what is sent, before anything is started.
func (c *conversation) prepare(ctx context.Context) error {
	c.question = c.o.Question
	if c.question == "-" {
		text, err := c.prompter.Lines.All(ctx)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		c.question = strings.TrimRight(text, "\r\n")
	}
	if !c.o.Attach && strings.TrimSpace(c.question) == "" {
		return usage("the question is empty")
	}
	var err error
	c.files, err = checkFiles(c.o.Files)
	return err
}

// connect finds the server and settles which thread is spoken of.
func (c *conversation) connect(ctx context.Context) error {
	var err error
	if c.server, err = c.locate(ctx); err != nil {
		return err
	}
	if !c.server.own && c.o.Config != "" {
		c.progress.Info("The server at %s is running already: its own configuration holds, not %s.", c.server.URL, c.o.Config)
	}
	c.client, err = client.New(client.Options{Server: c.server.URL, APIKey: c.o.APIKey, OnReconnect: c.reconnecting})
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return nil
}

// disconnect stops our own server.
func (c *conversation) disconnect(ctx context.Context) {
	c.client.Close()
	if c.server.stop == nil {
		return
	}
	c.progress.Status("stopping the server")
	ctx, cancel := lastWords(ctx, stopTimeout)
	defer cancel()
	if err := c.server.stop(ctx); err != nil {
		c.progress.Note("The server did not stop in order: %v", err)
	}
	c.progress.Idle()
}

// converse follows runs until one has ended without a question. It is [cli.ErrNoAnswer] when nobody answers.
func (c *conversation) converse(ctx context.Context) error {
	stream, err := c.begin(ctx)
	if err != nil {
		return err
	}
	for {
		if stream != nil {
			if err := c.follow(ctx, stream); err != nil {
				return err
			}
		}
		if err := c.look(ctx); err != nil {
			return err
		}
		if !c.run.Status.Terminal() { // the stream was closed, the run was not
			stream = c.client.JoinStream(c.threadID, c.run.ID, lastID(stream), c.modes()...)
			if err := sleep(ctx, joinPause); err != nil {
				return err
			}
			continue
		}
		questions := c.state.Questions()
		if len(questions) == 0 {
			return nil
		}
		if stream, err = c.ask(ctx, questions); err != nil {
			return err
		}
	}
}

// joinPause keeps a server that closes streams at once from being asked without end.
const joinPause = 300 * time.Millisecond

func lastID(s *client.Stream) string {
	if s == nil {
		return ""
	}
	return s.LastID()
}

// look reads how the run stands, and its thread.
func (c *conversation) look(ctx context.Context) error {
	return c.patiently(ctx, func() (err error) {
		if c.run, err = c.client.GetRun(ctx, c.threadID, c.run.ID); err != nil {
			return err
		}
		c.usage[c.run.ID] = usageOf(&c.run)
		c.state, err = c.client.State(ctx, c.threadID)
		return err
	})
}

// ask puts the open questions to the person, one after the other, and starts the run that carries the answers.
func (c *conversation) ask(ctx context.Context, questions []thread.Interrupt) (*client.Stream, error) {
	resume := map[string]string{}
	for _, q := range questions {
		answer, err := c.prompter.Ask(ctx, q.Value)
		if err != nil {
			return nil, err
		}
		resume[q.ID] = answer.Value
	}
	return c.resume(ctx, client.RunRequest{Resume: resume})
}

// resume starts the run that carries answers. What a person has typed is worth waiting for a server that is away. An
// attempt whose reply was lost may have been taken, and the next one is a conflict then, as with an answer given
// elsewhere: either way the newest run is the one to follow.
func (c *conversation) resume(ctx context.Context, r client.RunRequest) (*client.Stream, error) {
	c.link.sending = true
	defer func() { c.link.sending = false }()
	var stream *client.Stream
	attempts := 0
	err := c.patiently(ctx, func() (err error) {
		attempts++
		stream, err = c.start(ctx, r)
		return err
	})
	if errors.Is(err, client.ErrConflict) {
		if attempts == 1 {
			c.progress.Note("The question was answered elsewhere meanwhile.")
		} else {
			c.progress.Note("The question has its answer already.")
		}
		return c.attach(ctx)
	}
	return stream, err
}

// modes are the kinds of events that are asked for. The state with all messages after every step is only for those who
// read the events themselves.
func (c *conversation) modes() []string {
	modes := []string{"messages-tuple", "updates", "custom"}
	if c.o.Format == cli.FormatJSONL {
		modes = append(modes, "values")
	}
	return modes
}

// start starts a run and makes it the one that is spoken of.
func (c *conversation) start(ctx context.Context, r client.RunRequest) (*client.Stream, error) {
	r.Modes = c.modes()
	if c.o.Model != "" {
		r.Context = map[string]any{"model_name": c.o.Model}
	}
	stream, err := c.client.StreamRun(ctx, c.threadID, r)
	var answer *client.StatusError
	if errors.As(err, &answer) && isRefusal(answer.Status) && answer.Detail != "" {
		return nil, cli.Exitf(cli.ExitUsage, "the server does not start the run: %s", answer.Detail)
	}
	if err != nil {
		return nil, fmt.Errorf("starting a run in thread %s: %w", c.threadID, err)
	}
	c.run = client.Run{ID: stream.RunID, ThreadID: c.threadID, Status: thread.RunPending}
	return stream, nil
}
