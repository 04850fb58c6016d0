package change

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	. "deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// shape is one way for a thread to go, and the history that comes of it.
type shape struct {
	name string
	// config has lines of its own; shapes of the same config share a product,
	// unless alone says that this one needs its own.
	config string
	alone  bool
	// slow shapes take a minute: they are played to be recorded.
	slow bool
	// script answers the thread's requests; play drives the thread.
	script func(s *Script, gate *Gate) // nil: the first answer holds at the gate
	play   func(s *stage)
}

// stage is a thread on a running product.
type stage struct {
	t       *testing.T
	ctx     context.Context
	m       *Model
	p       *Process
	api     *API
	c       client.Client
	id      string      // of the thread
	mark    string      // in its first message, and so in all its requests
	first   RunRequest  // that sends it
	gate    *Gate       // that the script may hold at
	earlier []execution // of workflows that are not there any more at the end
}

// say sends what the thread is about and waits for its end.
func (s *stage) say(r RunRequest) {
	s.t.Helper()
	_, err := s.api.WaitRun(s.ctx, s.id, r)
	require.NoError(s.t, s.reason(err))
}

func (s *stage) start(r RunRequest) Run {
	s.t.Helper()
	run, err := s.api.CreateRun(s.ctx, s.id, r)
	require.NoError(s.t, s.reason(err))
	return run
}

func (s *stage) ends(run Run, status string) {
	s.t.Helper()
	_, err := s.api.AwaitRun(s.ctx, s.id, run.RunID, status)
	require.NoError(s.t, s.reason(err))
}

func (s *stage) stop(run Run, action string) {
	s.t.Helper()
	require.NoError(s.t, s.reason(s.api.CancelRun(s.ctx, s.id, run.RunID, CancelOptions{Wait: true, Action: action})))
}

// held waits until the script holds.
func (s *stage) held() {
	s.t.Helper()
	select {
	case <-s.gate.Reached():
	case <-s.ctx.Done():
		require.NoError(s.t, context.Cause(s.ctx))
	}
}

func (s *stage) reason(err error) error {
	if err != nil && s.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(s.ctx), err)
	}
	return err
}

// has checks the transcript behind the first message.
func (s *stage) has(want ...string) {
	s.t.Helper()
	require.Equal(s.t, want, texts(s.ctx, s.t, s.api, s.id)[1:])
}

// shapes are all that there are.
func shapes() []*shape {
	return slices.Concat(plainShapes(), chainShapes(), stoppedShapes(), longShapes())
}

func plainShapes() []*shape {
	answers := func(replies ...Reply) func(*Script, *Gate) {
		return func(s *Script, _ *Gate) { s.Respond(ByTurn(replies...)) }
	}
	said := func(s *stage) { s.say(s.first) }
	return []*shape{
		{name: "plain", script: answers(Text("plain answer", WithUsage(10, 2))), play: said},
		{name: "tools", script: answers(
			ToolCalls(ls("a", "/mnt/user-data"), ls("b", "/mnt/user-data/uploads"), bash("c", "echo once >> effect.txt")),
			ToolCalls(call("d", "no_such_tool", nil)),
			Text("used tools"),
		), play: said},
		{name: "failure", script: func(s *Script, _ *Gate) { s.Always(APIError(401, "invalid_api_key", "no such key")) }, play: func(s *stage) { s.ends(s.start(s.first), "error") }},
		{name: "question", script: func(s *Script, _ *Gate) {
			s.Respond(onceAnswered(ToolCalls(ask("q", "Which?")), Text("answered")))
		}, play: func(s *stage) {
			s.say(s.first)
			s.say(Resume("this"))
		}},
		{name: "two-questions", script: func(s *Script, _ *Gate) {
			s.Respond(onceAnswered(ToolCalls(ask("q1", "Which?"), ask("q2", "For whom?")), Text("answered")))
		}, play: func(s *stage) {
			s.say(s.first)
			th, err := s.api.Thread(s.ctx, s.id)
			require.NoError(s.t, err)
			answers := map[string]any{}
			for _, list := range th.Interrupts {
				for _, i := range list {
					answers[i.ID] = "this"
				}
			}
			require.Len(s.t, answers, 2)
			s.say(Resume(answers))
		}},
		{name: "signal", script: func(s *Script, _ *Gate) {
			s.Respond(onceAnswered(ToolCalls(ask("q", "Which?")), Text("answered")))
		}, play: func(s *stage) {
			s.say(s.first)
			require.NoError(s.t, s.c.SignalWorkflow(s.ctx, thread.WorkflowID(s.id), "", "answer", map[string]string{"text": "this"}))
			require.Eventually(s.t, func() bool {
				th, err := s.api.Thread(s.ctx, s.id)
				return s.ctx.Err() != nil || err == nil && th.Status == "idle"
			}, patience, tick)
			require.NoError(s.t, context.Cause(s.ctx))
		}},
		{name: "edited", script: answers(Text("first answer")), play: func(s *stage) {
			s.say(s.first)
			require.NoError(s.t, s.api.UpdateState(s.ctx, s.id, map[string]any{
				"title":    "another title",
				"messages": []any{map[string]any{"type": "human", "id": "added", "content": "added by hand"}},
			}))
			s.say(SayWatched("and then?"))
			require.Contains(s.t, texts(s.ctx, s.t, s.api, s.id), "human: added by hand")
		}},
		{name: "turn-limit", script: func(s *Script, _ *Gate) {
			s.Respond(func(r *Request) Reply {
				return ToolCalls(ls(fmt.Sprint("l", r.N), fmt.Sprintf("/mnt/user-data/%d", r.Turn())))
			})
		}, play: func(s *stage) {
			s.first.Config = map[string]any{"recursion_limit": 3}
			s.say(s.first)
		}},
		{name: "loop-stop", script: func(s *Script, _ *Gate) {
			s.Respond(func(r *Request) Reply { return ToolCalls(ls(fmt.Sprint("l", r.N), "/mnt/user-data")) })
		}, play: said},
	}
}

func workspaceFile(s *stage, name string) string {
	return filepath.Join(workspace(s.p, s.id), name)
}

func lines(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}
