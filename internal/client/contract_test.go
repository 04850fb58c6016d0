package client_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/api"
	"deerflow/internal/client"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/stream"
	"deerflow/internal/thread"
	"deerflow/internal/threadclient"
)

// threads takes every run, except while it is told to refuse.
type threads struct{ refuse error }

func (f *threads) Submit(_ context.Context, _, _ string, s step.SubmitRun) (step.SubmitResult, error) {
	return step.SubmitResult{RunID: s.RunID}, f.refuse
}

func (f *threads) Cancel(_ context.Context, _, _, _ string, r step.CancelRun) (step.CancelResult, error) {
	return step.CancelResult{RunID: r.RunID}, nil
}

func (f *threads) UpdateState(context.Context, string, string, step.UpdateState) (step.UpdateStateResult, error) {
	return step.UpdateStateResult{}, f.refuse
}

func (f *threads) Compact(context.Context, string, string, step.Compact) (step.CompactResult, error) {
	return step.CompactResult{}, f.refuse
}

func (f *threads) Stop(context.Context, string) error { return nil }

// TestContract talks to the real API over a real store: the shapes of both
// sides belong together.
func TestContract(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	hub := stream.New()
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(t.TempDir(), "db"), OnEvents: hub.Publish, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	fake := &threads{}
	options := api.Options{Store: db, Hub: hub, Threads: fake, Files: api.NewFiles(t.TempDir()), Logger: slog.New(slog.DiscardHandler), Version: "9"}
	server := api.New(options)
	var current atomic.Pointer[api.Server]
	current.Store(server)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().Handler().ServeHTTP(w, r) }))
	defer web.Close()
	c, err := client.New(client.Options{Server: web.URL})
	require.NoError(t, err)
	defer c.Close()

	h, err := c.Health(ctx)
	require.NoError(t, err)
	require.Equal(t, "9", h.Version)
	made, err := c.CreateThread(ctx, client.NewThread{ID: "t", Metadata: map[string]any{"k": "v"}})
	require.NoError(t, err)
	require.Equal(t, thread.StatusIdle, made.Status)
	require.False(t, made.CreatedAt.IsZero())
	f, err := c.Upload(ctx, "t", "a b.txt", strings.NewReader("hello"))
	require.NoError(t, err)
	a, err := c.DownloadArtifact(ctx, "t", f.VirtualPath)
	require.NoError(t, err)
	data, err := io.ReadAll(a)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.Equal(t, "hello", string(data))
	require.Equal(t, "a b.txt", a.Name)

	sources, err := c.Sources(ctx, "t")
	require.NoError(t, err)
	require.Empty(t, sources)
	_, err = c.ExportReport(ctx, "t", "md", "")
	require.ErrorIs(t, err, client.ErrNotFound)
	f, err = c.Upload(ctx, "t", "r.md", strings.NewReader("# R\n"))
	require.NoError(t, err)
	r, err := c.ExportReport(ctx, "t", "pdf", f.VirtualPath)
	require.NoError(t, err)
	data, err = io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "%PDF", string(data[:4]))
	require.Equal(t, "r.pdf", r.Name)

	fake.refuse = &threadclient.RefusedError{Type: step.ErrBusy, Reason: "busy"}
	_, err = c.StartRun(ctx, "t", client.RunRequest{Messages: []thread.Message{thread.Human("x", "hi")}})
	require.ErrorIs(t, err, client.ErrConflict)
	fake.refuse = threadclient.ErrUnavailable
	_, err = c.StartRun(ctx, "t", client.RunRequest{Messages: []thread.Message{thread.Human("x", "hi")}})
	require.ErrorIs(t, err, client.ErrUnavailable)
	fake.refuse = nil
	_, err = c.GetRun(ctx, "t", "nope")
	require.ErrorIs(t, err, client.ErrNotFound)

	message := thread.Human("m-1", "hi")
	message.SetKwarg(thread.KeyFiles, []any{f.Reference()})
	s, err := c.StreamRun(ctx, "t", client.RunRequest{Messages: []thread.Message{message}, Key: "key"})
	require.NoError(t, err)
	again, err := c.StartRun(ctx, "t", client.RunRequest{Messages: []thread.Message{message}, Key: "key"})
	require.NoError(t, err)
	require.Equal(t, s.RunID, again.ID)

	ref := step.Ref{Thread: "t", User: "default", Run: s.RunID}
	_, err = db.StartRun(ctx, store.StartRun{Ref: ref, PlanHash: "p", Plan: []byte("{}"), At: time.Now()})
	require.NoError(t, err)
	var text strings.Builder
	var events []string
	for frame, err := range s.Frames(ctx) {
		require.NoError(t, err)
		events = append(events, frame.Event)
		switch {
		case frame.Event == "values" && len(events) == 2:
			server.Close() // every stream is dropped; the next server takes over
			server = api.New(options)
			current.Store(server)
			finish(t, ctx, db, ref)
		case frame.Event == "messages":
			var parts []thread.Message
			require.NoError(t, json.Unmarshal(frame.Data, &parts))
			text.WriteString(parts[0].Content.String())
		}
	}
	defer server.Close()
	require.Equal(t, []string{"metadata", "values", "messages", "messages", "messages", "updates", "values", "values", "updates", "end"}, events)
	require.Equal(t, "Which year?", text.String())

	result, err := c.Wait(ctx, "t", s.RunID)
	require.NoError(t, err)
	require.Len(t, result.Values.Messages, 2)
	require.Equal(t, "q", result.Questions[0].ID)
	state, err := c.State(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, result.Questions, state.Questions())
	got, err := c.GetThread(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, thread.StatusInterrupted, got.Status)
	require.Equal(t, result.Questions, got.Questions())
	list, total, err := c.SearchThreads(ctx, client.Search{Status: thread.StatusInterrupted})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.Equal(t, "t", list[0].ID)
	runs, err := c.ListRuns(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, thread.RunSuccess, runs[0].Status)
	require.Equal(t, 15, runs[0].TotalTokens)
	require.NoError(t, c.CancelRun(ctx, "t", s.RunID, client.CancelOptions{}), "the question is cancelled")
	_, err = c.StartRun(ctx, "t", client.RunRequest{Resume: map[string]any{"q": "2026"}})
	require.NoError(t, err)
	require.ErrorIs(t, c.CancelRun(ctx, "t", s.RunID, client.CancelOptions{}), client.ErrConflict)
	require.ErrorIs(t, c.DeleteThread(ctx, "t"), client.ErrConflict)
}

// finish plays the rest of the run: an answer in two pieces, then a question.
func finish(t *testing.T, ctx context.Context, db *store.Store, ref step.Ref) {
	t.Helper()
	ref.Step = 1
	id := thread.MessageID(ref.Run, 1)
	claim, err := db.Claim(ctx, store.Claim{Ref: ref, MessageID: id})
	require.NoError(t, err)
	owner := store.Owner{Ref: ref, MessageID: id, Claim: claim.Claim}
	for _, piece := range []string{"Which ", "year?"} {
		require.NoError(t, db.Append(ctx, owner, store.NewEvent{Type: store.EventDelta, Data: store.Delta{MessageID: id, Text: piece}}))
	}
	_, err = db.Finish(ctx, owner, store.NewRow{Pos: 1, Message: thread.Message{ID: id, Role: thread.RoleAI, Content: thread.Text("Which year?")}})
	require.NoError(t, err)
	ref.Step = 2
	_, err = db.Commit(ctx, step.CommitInput{
		Ref: ref, CheckpointID: "c-1", At: time.Now(), Checkpoint: json.RawMessage(`{}`), NextPos: 2, Status: thread.StatusInterrupted,
		Cursor:     thread.Cursor{Segments: []thread.Segment{{From: 0, To: 2}}},
		Interrupts: []thread.Interrupt{{ID: "q", Value: thread.Card{Question: "Which year?"}}}, Next: []string{"tools"},
		Ends: []thread.End{{RunID: ref.Run, Status: thread.RunSuccess, Usage: thread.Usage{InputTokens: 10, OutputTokens: 5, TotalTokens: 15}}},
	}, func(m *thread.Message, pos int64) thread.Digest { return m.Digest(pos) })
	require.NoError(t, err)
}
