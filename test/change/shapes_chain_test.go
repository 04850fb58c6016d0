package change

import (
	"net/http"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// Sections of the configuration that shapes of the chain ask for.
const (
	bounded    = "token_budget: {enabled: true, max_tokens: 1000000}"
	modelTitle = "title: {model_name: kit}"
	compacting = "summarization: {enabled: true, trigger: [{type: messages, value: 7}], keep: {type: messages, value: 2}}"
)

// writesSummary tells the requests for a summary: they alone offer no tools.
func writesSummary(r *Request) bool { return len(r.Tools) == 0 }

func todos(id string, status string) Call {
	return call(id, "write_todos", map[string]any{"todos": []any{map[string]any{"content": "read", "status": status}}})
}

// chainShapes are what the middlewares make of a thread.
func chainShapes() []*shape {
	return []*shape{
		{name: "plan", config: bounded, script: func(s *Script, _ *Gate) {
			s.Enqueue(ToolCalls(todos("a", "in_progress")), Text("too early"), ToolCalls(todos("b", "completed")), Text("planned"))
		}, play: func(s *stage) {
			s.first.Context = map[string]any{"is_plan_mode": true}
			s.say(s.first)
			reminded := s.requests()[2].Messages
			require.Contains(s.t, reminded[len(reminded)-1].Text(), "- [in_progress] read")
		}},
		{name: "image", config: bounded, script: func(s *Script, _ *Gate) {
			s.Enqueue(
				ToolCalls(call("v", "view_image", map[string]any{"image_path": "/mnt/user-data/uploads/photo.png"})),
				ToolCalls(ls("l", "/mnt/user-data")), Text("a cat"))
		}, play: func(s *stage) {
			uploads := filepath.Join(filepath.Dir(workspace(s.p, s.id)), "uploads")
			require.NoError(s.t, os.MkdirAll(uploads, 0o750))
			require.NoError(s.t, os.WriteFile(filepath.Join(uploads, "photo.png"), []byte("\x89PNG\r\n\x1a\npixels"), 0o600))
			s.say(s.first)
			require.Contains(s.t, string(s.requests()[1].Body), "data:image/png")
			require.NotContains(s.t, string(s.requests()[2].Body), "data:image/png")
		}},
		{name: "budget", config: bounded, script: func(s *Script, _ *Gate) {
			s.Enqueue(
				ToolCalls(ls("a", "/mnt/user-data")).With(WithUsage(850_000, 10)),
				ToolCalls(ls("b", "/mnt/user-data")).With(WithUsage(200_000, 10)))
		}, play: func(s *stage) {
			s.stopsFor("token_capped")
			require.True(s.t, AnyMessage("[TOKEN BUDGET WARNING]")(s.requests()[1]))
		}},
		{name: "safety", config: bounded, script: func(s *Script, _ *Gate) {
			s.Enqueue(ToolCalls(ls("a", "/mnt/user-data")).With(WithFinish("content_filter")))
		}, play: func(s *stage) { s.stopsFor("safety_capped") }},
		{name: "cut-answer", config: bounded, script: func(s *Script, _ *Gate) {
			s.Enqueue(Text("cut by the").With(WithFinish("length")))
		}, play: func(s *stage) { s.stopsFor("model_length_capped") }},
		{name: "too-long", config: bounded, script: func(s *Script, _ *Gate) {
			s.Respond(func(r *Request) Reply {
				switch {
				case writesSummary(r):
					return Text("what was said")
				case len(r.Messages) > 6:
					return APIError(400, "context_length_exceeded", "maximum context length exceeded")
				}
				return Text("fine")
			})
		}, play: func(s *stage) {
			s.converses("one", "two", "three", "four", "five")
			s.wasSummarised(10)
		}},
		{name: "title", config: modelTitle, script: func(s *Script, _ *Gate) {
			s.Respond(func(r *Request) Reply {
				if System("You name conversations")(r) {
					return Text("A title of a model")
				}
				return Text("fine")
			})
		}, play: func(s *stage) {
			s.converses("one", "two")
			state, err := s.api.State(s.ctx, s.id)
			require.NoError(s.t, err)
			require.Equal(s.t, "A title of a model", state.Values.Title())
		}},
		{name: "compacted", config: shortHistories + "\n" + compacting, script: summarizes, play: func(s *stage) {
			s.converses("one", "two", "three", "four", "five")
			s.wasSummarised(10)
			require.Greater(s.t, len(executions(s.ctx, s.t, s.c, s.id)), 1, "it continued as new")
		}},
		{name: "compacted-by-hand", config: shortHistories + "\n" + compacting, script: summarizes, play: func(s *stage) {
			s.converses("one", "two", "three")
			s.compacts(true)
			s.compacts(false)
			s.converses("four")
			s.wasSummarised(8)
		}},
	}
}

func summarizes(s *Script, _ *Gate) {
	s.Respond(func(r *Request) Reply {
		if writesSummary(r) {
			return Text("what was said")
		}
		return Text("fine")
	})
}

// requests are those of the thread.
func (s *stage) requests() []*Request { return s.m.RequestsTo(AnyMessage(s.mark)) }

// stopsFor sends what the thread is about: the run ends early, for a reason.
func (s *stage) stopsFor(reason string) {
	s.t.Helper()
	run := s.start(s.first)
	s.ends(run, "success")
	run, err := s.api.Run(s.ctx, s.id, run.RunID)
	require.NoError(s.t, err)
	require.Equal(s.t, reason, run.StopReason)
}

// converses sends texts, one run each. Each has the mark, since what the model
// reads may have lost the first.
func (s *stage) converses(list ...string) {
	s.t.Helper()
	for _, text := range list {
		s.say(SayWatched(s.mark + " " + text))
	}
}

// compacts asks for a compaction and checks whether there was one.
func (s *stage) compacts(done bool) {
	s.t.Helper()
	var answer struct {
		Compacted bool `json:"compacted"`
	}
	_, err := s.api.Do(s.ctx, http.MethodPost, "/threads/"+s.id+"/compact", map[string]any{"keep": 2}, &answer)
	require.NoError(s.t, s.reason(err))
	require.Equal(s.t, done, answer.Compacted)
}

// wasSummarised checks that a summary stands for the beginning of the thread in
// its last request, and that all of its messages are listed.
func (s *stage) wasSummarised(messages int) {
	s.t.Helper()
	written := 0
	for _, r := range s.requests() {
		if writesSummary(r) {
			written++
		}
	}
	require.Equal(s.t, 1, written, "summaries")
	all := s.requests()
	require.True(s.t, AnyMessage("what was said")(all[len(all)-1]))
	require.False(s.t, AnyMessage(s.mark+" one")(all[len(all)-1]))
	require.Len(s.t, texts(s.ctx, s.t, s.api, s.id), messages)
}
