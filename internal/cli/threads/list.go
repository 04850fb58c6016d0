package threads

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/cli/conversation"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// ListOptions select and shape a list.
type ListOptions struct {
	Status thread.Status // empty: all
	Limit  int           // 1 to 1000
	Format cli.Format
}

// Item is one thread of a list, as JSON shows it.
type Item struct {
	ThreadID   string        `json:"thread_id"`
	Status     thread.Status `json:"status"` // as the API calls it
	StatusText string        `json:"status_text"`
	Title      string        `json:"title"`              // or the first question
	Question   string        `json:"question,omitempty"` // that the thread waits with
	CreatedAt  time.Time     `json:"created_at"`
	UpdatedAt  time.Time     `json:"updated_at"`
}

// List writes the threads, newest update first.
func (s *Session) List(ctx context.Context, o ListOptions) error {
	if o.Limit < 1 || o.Limit > pageSize {
		return cli.Exitf(cli.ExitUsage, "--limit is %d: it must be 1 to %d", o.Limit, pageSize)
	}
	list, total, err := s.client.SearchThreads(ctx, client.Search{Status: o.Status, Limit: o.Limit})
	if err != nil {
		return conversation.Classify(err)
	}
	if err := s.addFirstQuestions(ctx, list); err != nil {
		return conversation.Classify(err)
	}
	items := make([]Item, len(list))
	for i := range list {
		items[i] = itemOf(&list[i])
	}
	if err := s.writeList(items, o.Format); err != nil {
		return err
	}
	if o.Format != cli.FormatText {
		return nil
	}
	switch {
	case total == 0 && o.Status == "":
		s.note(`No threads yet. Ask something with: %s run "..."`, s.program())
	case total == 0:
		s.note("No thread is %s.", statusWords(o.Status))
	case len(list) < total:
		s.note("%d of %d threads; more with --limit.", len(list), total)
	}
	return nil
}

func itemOf(t *client.Thread) Item {
	item := Item{
		ThreadID: t.ID, Status: t.Status, StatusText: statusWords(t.Status), Title: titleOf(&t.Values),
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
	if open := t.Questions(); len(open) > 0 {
		item.Question = cli.Clean(open[0].Value.Question)
	}
	return item
}

// readers is how many threads are read at once.
const readers = 4

// addFirstQuestions reads the messages of threads that have no title.
func (s *Session) addFirstQuestions(ctx context.Context, list []client.Thread) error {
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	slots := make(chan struct{}, readers)
	for i := range list {
		if list[i].Values.Title != "" {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			var state client.State
			state, errs[i] = s.client.State(ctx, list[i].ID)
			list[i].Values = state.Values
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !isGone(err) { // it may have been deleted meanwhile
			return err
		}
	}
	return nil
}

func (s *Session) writeList(items []Item, f cli.Format) error {
	switch f {
	case cli.FormatJSON:
		return f.WriteJSON(s.o.Out, items)
	case cli.FormatJSONL:
		for i := range items {
			if err := f.WriteJSON(s.o.Out, items[i]); err != nil {
				return err
			}
		}
	case cli.FormatText:
		if len(items) == 0 {
			return nil
		}
		if _, err := io.WriteString(s.o.Out, s.table(items)); err != nil {
			return fmt.Errorf("writing the list: %w", err)
		}
	}
	return nil
}

// maxTitle bounds, in columns, a title where no terminal does.
const maxTitle = 100

func (s *Session) table(items []Item) string {
	width := shortest(items)
	idWidth := max(width, len("ID"))
	room := maxTitle
	const statusWidth, ageWidth, gaps = len("waiting for you"), len(time.DateOnly), 6
	if s.o.OutIsTTY && s.o.Columns != nil {
		if columns := s.o.Columns(); columns > 0 {
			room = max(columns-idWidth-statusWidth-ageWidth-gaps, 20)
		}
	}
	var b strings.Builder
	row := func(id, status, age, title string) {
		line := fmt.Sprintf("%-*s  %-*s  %-*s  %s", idWidth, id, statusWidth, status, ageWidth, age, cli.Cut(title, room))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("ID", "STATUS", "UPDATED", "TITLE")
	for i := range items {
		item := &items[i]
		title := item.Title
		if title == "" {
			title = "(nothing was said yet)"
		}
		row(item.ThreadID[:min(width, len(item.ThreadID))], item.StatusText, age(s.o.Now(), item.UpdatedAt), title)
	}
	return b.String()
}

// shortID is how much of an id is shown when it tells the threads of a list apart.
const shortID = 8

// shortest is how many characters tell the ids of a list apart.
func shortest(items []Item) int {
	for n := shortID; ; n++ {
		seen, whole := map[string]bool{}, true
		for i := range items {
			id := items[i].ThreadID
			whole = whole && len(id) <= n
			seen[id[:min(n, len(id))]] = true
		}
		if whole || len(seen) == len(items) {
			return n
		}
	}
}
