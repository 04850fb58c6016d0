package conversation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"deerflow/internal/cli"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// begin opens the stream of the first run of the conversation. It is nil when that run has ended long ago.
func (c *conversation) begin(ctx context.Context) (*client.Stream, error) {
	if c.o.Attach {
		c.threadID = c.o.Thread
		stream, err := c.attach(ctx)
		if err == nil {
			c.introduce(ctx)
		}
		return stream, err
	}
	isNew := c.o.Thread == ""
	if c.threadID = c.o.Thread; isNew {
		c.threadID = uuid.NewString()
	} else {
		t, err := c.knownThread(ctx)
		if err != nil {
			return nil, err
		}
		if c.o.Reply {
			return c.reply(ctx, t.Questions())
		}
	}
	message := thread.Human("", c.question)
	files, err := c.upload(ctx)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		message.SetKwarg(thread.KeyFiles, files)
	}
	c.progress.Status("starting the run")
	stream, err := c.start(ctx, client.RunRequest{Messages: []thread.Message{message}, CreateThread: isNew})
	if err != nil {
		return nil, err
	}
	c.introduce(ctx)
	return stream, nil
}

// knownThread looks for the thread to go on in, before files are sent there.
func (c *conversation) knownThread(ctx context.Context) (client.Thread, error) {
	t, err := c.client.GetThread(ctx, c.threadID)
	if errors.Is(err, client.ErrNotFound) {
		return t, c.noThread()
	}
	if err != nil {
		return t, fmt.Errorf("thread %s: %w", c.threadID, err)
	}
	if len(t.Questions()) > 0 && !c.o.Reply {
		c.progress.Info("The thread waits for an answer: what you say now is taken as one.")
	}
	return t, nil
}

// noThread says that the server does not know the thread.
func (c *conversation) noThread() error {
	return cli.Exitf(cli.ExitNotFound, "there is no thread %s on %s", c.threadID, c.server.URL)
}

// reply starts the run that says the question's text in a thread which may wait for it.
func (c *conversation) reply(ctx context.Context, open []thread.Interrupt) (*client.Stream, error) {
	request, err := Reply(open, c.question)
	if err != nil {
		return nil, err
	}
	c.progress.Status("starting the run")
	stream, err := c.start(ctx, request)
	if err != nil {
		return nil, err
	}
	c.introduce(ctx)
	return stream, nil
}

// Reply is the request that says text in a thread: the answer to its open question, whose option may be named by its
// number, or a message. With several questions open the text is a message, which answers all of them. An answer that the
// question does not allow is a [*cli.ExitError] with the code for wrong usage.
func Reply(open []thread.Interrupt, text string) (client.RunRequest, error) {
	if len(open) != 1 {
		return client.RunRequest{Messages: []thread.Message{thread.Human("", text)}}, nil
	}
	value := text
	if card := open[0].Value; card.InputMode != thread.InputForm {
		answer, err := cli.AnswerCard(card, text)
		if err != nil {
			return client.RunRequest{}, cli.Exitf(cli.ExitUsage, "the answer to %q: %w", card.Question, err)
		}
		value = answer.Value
	}
	return client.RunRequest{Resume: map[string]string{open[0].ID: value}}, nil
}

// attach makes the newest run of the thread the one that is spoken of. The events of a run that has ended are only
// fetched for those who read the events themselves.
func (c *conversation) attach(ctx context.Context) (*client.Stream, error) {
	var runs []client.Run
	err := c.patiently(ctx, func() (err error) {
		runs, err = c.client.ListRuns(ctx, c.threadID)
		return err
	})
	if errors.Is(err, client.ErrNotFound) {
		return nil, c.noThread()
	}
	if err != nil {
		return nil, fmt.Errorf("the runs of thread %s: %w", c.threadID, err)
	}
	if len(runs) == 0 {
		return nil, cli.Exitf(cli.ExitNotFound, "there is no thread %s on %s, or nothing was asked in it yet", c.threadID, c.server.URL)
	}
	c.run = runs[0]
	if c.run.Status.Terminal() && c.o.Format != cli.FormatJSONL {
		return nil, nil //nolint:nilnil // nothing to follow
	}
	return c.client.JoinStream(c.threadID, c.run.ID, "", c.modes()...), nil
}

// introduce tells which thread and run it is, and where Temporal shows it.
func (c *conversation) introduce(ctx context.Context) {
	if c.o.Quiet {
		return
	}
	c.progress.Info("Thread %s · run %s", c.threadID, c.run.ID)
	if link := c.server.WorkflowLink(ctx, c.threadID); link != "" {
		c.progress.Info("Temporal: %s", link)
	}
	c.progress.Status("waiting for the run")
}

// upload sends the files and gives how a message names them.
func (c *conversation) upload(ctx context.Context) ([]map[string]any, error) {
	var refs []map[string]any
	for _, path := range c.files {
		c.progress.Status("uploading %s", filepath.Base(path))
		file, err := c.uploadOne(ctx, path)
		if err != nil {
			return nil, err
		}
		as := ""
		if file.Name != filepath.Base(path) {
			as = "as " + file.Name
		}
		c.progress.Step(cli.MarkDone, "uploaded "+filepath.Base(path), as)
		if file.NoText != "" {
			c.progress.Info("%s has no text that can be read: %s", filepath.Base(path), cli.Clean(file.NoText))
		}
		if file.TextWarning != "" {
			c.progress.Info("%s: %s", filepath.Base(path), cli.Clean(file.TextWarning))
		}
		refs = append(refs, file.Reference())
	}
	return refs, nil
}

func (c *conversation) uploadOne(ctx context.Context, path string) (client.File, error) {
	f, err := os.Open(path) //nolint:gosec // the person at the command line names the file
	if err != nil {
		return client.File{}, fmt.Errorf("file to upload: %w", err)
	}
	defer func() { _ = f.Close() }()
	return c.client.Upload(ctx, c.threadID, filepath.Base(path), f)
}
