package threads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/cli/conversation"
	"deerflow/internal/cli/locate"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// Options say which server is meant, and what the commands see of the world.
type Options struct {
	cli.IOStreams
	locate.Options
	Now func() time.Time // time.Now when nil
}

// Session is a server that answers, and the threads on it. Close it. Errors of its methods are [*cli.ExitError]s.
type Session struct {
	o      Options
	server *locate.Server
	client *client.Client
}

// Open finds the server. There must be one: it is never started for these commands.
func Open(ctx context.Context, o Options) (*Session, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	server, err := locate.Require(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{Server: server.URL, APIKey: o.APIKey})
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return &Session{o: o, server: server, client: c}, nil
}

// Close drops the connections.
func (s *Session) Close() { s.client.Close() }

// program is how commands begin that are told to a person.
func (s *Session) program() string { return cli.ProgramName(s.o.Program) }

// note says something that is no data.
func (s *Session) note(format string, args ...any) {
	_, _ = fmt.Fprintln(s.o.ErrOut, cli.CleanLines(fmt.Sprintf(format, args...)))
}

// Find gives the thread that is meant by an id, by the beginning of one when no other thread begins so, or by the id of
// its workflow. None is exit code 11, several are 2.
func (s *Session) Find(ctx context.Context, id string) (client.Thread, error) {
	id = strings.TrimPrefix(strings.TrimSpace(id), "thread/")
	if !thread.ValidID(id) {
		return client.Thread{}, cli.Exitf(cli.ExitUsage, "%q is no thread id: it has 1 to 64 letters, digits, '_' and '-'", id)
	}
	t, err := s.client.GetThread(ctx, id)
	if err == nil || !errors.Is(err, client.ErrNotFound) {
		return t, conversation.Classify(err)
	}
	full, err := s.complete(ctx, id)
	if err != nil {
		return client.Thread{}, err
	}
	t, err = s.client.GetThread(ctx, full)
	return t, conversation.Classify(err)
}

// pageSize is the most that a search gives at once.
const pageSize = 1000

// complete looks for the one id that begins with prefix.
func (s *Session) complete(ctx context.Context, prefix string) (string, error) {
	var found []string
	for offset := 0; ; offset += pageSize {
		list, total, err := s.client.SearchThreads(ctx, client.Search{Limit: pageSize, Offset: offset, SortBy: "thread_id", Asc: true})
		if err != nil {
			return "", conversation.Classify(err)
		}
		for i := range list {
			if strings.HasPrefix(list[i].ID, prefix) {
				found = append(found, list[i].ID)
			}
		}
		if len(list) == 0 || offset+len(list) >= total {
			break
		}
	}
	switch len(found) {
	case 0:
		return "", cli.Exitf(cli.ExitNotFound, "there is no thread %s; see: %s threads list", prefix, s.program())
	case 1:
		return found[0], nil
	}
	const shown = 5
	text := strings.Join(found[:min(shown, len(found))], ", ")
	if len(found) > shown {
		text += fmt.Sprintf(" and %d more", len(found)-shown)
	}
	return "", cli.Exitf(cli.ExitUsage, "%d threads begin with %s: %s; give more of the id", len(found), prefix, text)
}
