package middleware

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// spy is a middleware that writes down when it is called, and answers what a
// test wants.
type spy struct {
	name   string
	log    *[]string
	update Update
	err    error
	reply  *step.Reply
	saved  json.RawMessage
}

func (s *spy) Name() string { return s.name }

func (s *spy) note(what string) { *s.log = append(*s.log, what+" "+s.name) }

func (s *spy) BeforeRun(workflow.Context, *Run) (Update, error) {
	s.note("before run")
	return s.update, s.err
}

func (s *spy) BeforeModel(workflow.Context, *Run) (Update, error) {
	s.note("before model")
	return s.update, s.err
}

func (s *spy) EditRequest(_ workflow.Context, _ *Run, r *Request) error {
	s.note("edit")
	r.Append(s.name, "text")
	return s.err
}

func (s *spy) AroundModel(ctx workflow.Context, _ *Run, r *Request, next ModelCall) (ModelReply, error) {
	s.note("enter model")
	reply, err := next(ctx, r)
	s.note("leave model")
	return reply, err
}

func (s *spy) AfterModel(workflow.Context, *Run, *ModelReply) (Update, error) {
	s.note("after model")
	return s.update, s.err
}

func (s *spy) AroundTool(ctx workflow.Context, _ *Run, call *ToolCall, next ToolHandler) (ToolReply, error) {
	s.note("enter tool")
	reply, err := next(ctx, call, s.reply)
	s.note("leave tool")
	return reply, err
}

func (s *spy) AfterRun(workflow.Context, *Run) (Update, error) {
	s.note("after run")
	return s.update, s.err
}

func (s *spy) Save(workflow.Context) (json.RawMessage, error) { return s.saved, s.err }

func (s *spy) Restore(_ workflow.Context, saved json.RawMessage) error {
	s.saved = saved
	return s.err
}

// chainOf makes a chain of spies a, b, c.
func chainOf(t *testing.T) (chain *Chain, spies []*spy, log *[]string) {
	t.Helper()
	log = &[]string{}
	for _, name := range []string{"a", "b", "c"} {
		spies = append(spies, &spy{name: name, log: log})
	}
	chain, err := New(nil, spies[0], spies[1], spies[2])
	require.NoError(t, err)
	return chain, spies, log
}

func take(workflow.Context, Update) error { return nil }

func TestTheOrderOfTheLeadChain(t *testing.T) {
	t.Parallel()
	chain, err := Lead(nil, &agent.Summary{Loop: agent.LoopSettings{Enabled: true}})
	require.NoError(t, err)
	t.Logf("lead chain: %s", strings.Join(chain.Names(), " > "))
	require.Equal(t, []string{
		"InputSanitization", "ToolResultSanitization", "ThreadData", "Uploads", "Sandbox", "DanglingToolCall", "LLMErrorHandling", "SandboxAudit",
		"ToolErrorHandling", "DynamicContext", "SkillActivation", "SkillToolPolicy", "DurableContext", "Summarization", "SystemMessageCoalescing", "LoopDetection",
		"TerminalResponse", "ModelLength", "Clarification",
	}, chain.Names())
}

func TestABrokenOrderIsNamed(t *testing.T) {
	t.Parallel()
	named := func(name string) Middleware { return &spy{name: name, log: &[]string{}} }
	for _, c := range constraints() {
		_, err := New(nil, named(c.second), named("between"), named(c.first))
		require.ErrorContains(t, err, "middleware "+c.first+" must stand before "+c.second+": "+c.reason)
		_, err = New(nil, named(c.first))
		require.NoError(t, err, "a rule for two says nothing about one")
		_, err = New(nil, named(c.second))
		require.NoError(t, err)
		_, err = New(nil, named(c.first), named("between"), named(c.second))
		require.NoError(t, err)
	}
	_, err := New(nil, named(NameClarification), named(NameLoopDetection))
	require.ErrorContains(t, err, "middleware Clarification must stand after LoopDetection")
	_, err = New(nil, named("a"), named("b"), named("a"))
	require.ErrorContains(t, err, "middleware a stands in the chain twice")
	empty, err := New(nil)
	require.NoError(t, err)
	require.Empty(t, empty.Names())
}

func TestHooksRunInOrder(t *testing.T) {
	t.Parallel()
	chain, _, log := chainOf(t)
	run := &Run{}
	require.NoError(t, chain.BeforeRun(nil, run, take))
	require.Equal(t, []string{"before run a", "before run b", "before run c"}, *log)
	*log = nil
	require.NoError(t, chain.BeforeModel(nil, run, take))
	require.Equal(t, []string{"before model a", "before model b", "before model c"}, *log)
	*log = nil
	jump, err := chain.AfterModel(nil, run, &ModelReply{}, take)
	require.NoError(t, err)
	require.Empty(t, jump)
	require.Equal(t, []string{"after model c", "after model b", "after model a"}, *log)
	*log = nil
	require.NoError(t, chain.AfterRun(nil, run, take))
	require.Equal(t, []string{"after run c", "after run b", "after run a"}, *log)
}

func TestTheFirstAroundHookIsTheOutermost(t *testing.T) {
	t.Parallel()
	chain, _, log := chainOf(t)
	reply, err := chain.Model(nil, &Run{}, &Request{NoTools: true}, func(_ workflow.Context, r *Request) (ModelReply, error) {
		*log = append(*log, "call")
		require.True(t, r.NoTools)
		return ModelReply{CallModelResult: step.CallModelResult{FinishReason: "stop"}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, "stop", reply.FinishReason)
	require.Equal(t, []string{"enter model a", "enter model b", "enter model c", "call", "leave model c", "leave model b", "leave model a"}, *log)

	*log = nil
	failed := errors.New("lost")
	_, err = chain.Tool(nil, &Run{}, &ToolCall{}, func(_ workflow.Context, _ *ToolCall, reply *step.Reply) (ToolReply, error) {
		*log = append(*log, "run")
		require.Nil(t, reply)
		return ToolReply{}, failed
	})
	require.ErrorIs(t, err, failed)
	require.Equal(t, []string{"enter tool a", "enter tool b", "enter tool c", "run", "leave tool c", "leave tool b", "leave tool a"}, *log)
}

func TestAReplyGoesPastTheInnerHooks(t *testing.T) {
	t.Parallel()
	chain, spies, log := chainOf(t)
	spies[1].reply = &step.Reply{Text: "no"}
	var got *step.Reply
	_, err := chain.Tool(nil, &Run{}, &ToolCall{}, func(_ workflow.Context, _ *ToolCall, reply *step.Reply) (ToolReply, error) {
		got = reply
		return ToolReply{}, nil
	})
	require.NoError(t, err)
	require.Equal(t, "no", got.Text)
	require.Equal(t, []string{"enter tool a", "enter tool b", "leave tool b", "leave tool a"}, *log)
}

func TestAGotoEndsTheWalk(t *testing.T) {
	t.Parallel()
	for _, where := range []step.Goto{step.GotoEnd, step.GotoModel} {
		chain, spies, log := chainOf(t)
		spies[1].update = Update{Goto: where, StopReason: "why"}
		var taken []Update
		jump, err := chain.AfterModel(nil, &Run{}, &ModelReply{}, func(_ workflow.Context, u Update) error {
			taken = append(taken, u)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, where, jump)
		require.Equal(t, []string{"after model c", "after model b"}, *log)
		require.Equal(t, []Update{{}, {Goto: where, StopReason: "why"}}, taken, "the update of the one that jumps is taken")
	}
}

func TestEditsAreGatheredInOrder(t *testing.T) {
	t.Parallel()
	chain, _, _ := chainOf(t)
	r, err := chain.Request(nil, &Run{})
	require.NoError(t, err)
	require.Equal(t, []agent.Edit{
		{Op: agent.EditAppend, Role: thread.RoleHuman, Name: "a", Text: "text"},
		{Op: agent.EditAppend, Role: thread.RoleHuman, Name: "b", Text: "text"},
		{Op: agent.EditAppend, Role: thread.RoleHuman, Name: "c", Text: "text"},
	}, r.Edits)
}

func TestAFailingHookIsNamed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	hooks := map[string]func(c *Chain, apply Apply) error{
		"before the run":   func(c *Chain, apply Apply) error { return c.BeforeRun(nil, &Run{}, apply) },
		"before the model": func(c *Chain, apply Apply) error { return c.BeforeModel(nil, &Run{}, apply) },
		"after the model": func(c *Chain, apply Apply) error {
			_, err := c.AfterModel(nil, &Run{}, &ModelReply{}, apply)
			return err
		},
		"after the run": func(c *Chain, apply Apply) error { return c.AfterRun(nil, &Run{}, apply) },
	}
	for when, call := range hooks {
		chain, spies, log := chainOf(t)
		spies[1].err = broken
		err := call(chain, take)
		require.ErrorIs(t, err, broken, when)
		require.ErrorContains(t, err, "middleware b, "+when)
		require.Len(t, *log, 2, "nobody is called after a failure")

		chain, _, _ = chainOf(t)
		err = call(chain, func(workflow.Context, Update) error { return broken })
		require.ErrorIs(t, err, broken, "an update that cannot be taken fails the hook, %s", when)
		require.ErrorContains(t, err, when)
	}
	chain, spies, _ := chainOf(t)
	spies[2].err = broken
	_, err := chain.Request(nil, &Run{})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "middleware c, edit the request")
}

func TestChainKeepsTheStateOfItsMiddlewares(t *testing.T) {
	t.Parallel()
	chain, spies, _ := chainOf(t)
	spies[0].saved, spies[2].saved = json.RawMessage(`1`), json.RawMessage(`{"x":2}`)
	saved, err := chain.Save(nil)
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{"a": json.RawMessage(`1`), "c": json.RawMessage(`{"x":2}`)}, saved)

	next, others, _ := chainOf(t)
	saved["somebody who has left"] = json.RawMessage(`3`)
	require.NoError(t, next.Restore(nil, saved))
	require.Equal(t, []string{"1", "", `{"x":2}`}, []string{string(others[0].saved), string(others[1].saved), string(others[2].saved)})
	require.NoError(t, next.Restore(nil, nil), "a chain without a past starts fresh")

	spies[0].err = errors.New("full")
	_, err = chain.Save(nil)
	require.ErrorContains(t, err, "save middleware a: full")
	require.ErrorContains(t, chain.Restore(nil, saved), "restore middleware a: full")
}

// passive is a middleware that only has a name.
type passive struct{ Base }

func (passive) Name() string { return "passive" }

func TestBaseChangesNothing(t *testing.T) {
	t.Parallel()
	chain, err := New(nil, passive{})
	require.NoError(t, err)
	run := &Run{}
	var taken []Update
	apply := func(_ workflow.Context, u Update) error {
		taken = append(taken, u)
		return nil
	}
	require.NoError(t, chain.BeforeRun(nil, run, apply))
	require.NoError(t, chain.BeforeModel(nil, run, apply))
	r, err := chain.Request(nil, run)
	require.NoError(t, err)
	require.Equal(t, &Request{}, r)
	reply, err := chain.Model(nil, run, r, func(workflow.Context, *Request) (ModelReply, error) {
		return ModelReply{CallModelResult: step.CallModelResult{FinishReason: "stop"}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, "stop", reply.FinishReason)
	jump, err := chain.AfterModel(nil, run, &reply, apply)
	require.NoError(t, err)
	require.Empty(t, jump)
	tool, err := chain.Tool(nil, run, &ToolCall{Position: 3}, func(_ workflow.Context, call *ToolCall, reply *step.Reply) (ToolReply, error) {
		require.Nil(t, reply)
		return ToolReply{CallToolResult: step.CallToolResult{Message: thread.Digest{ID: fmt.Sprint(call.Position)}}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, "3", tool.Message.ID)
	require.NoError(t, chain.AfterRun(nil, run, apply))
	require.Equal(t, []Update{{}, {}, {}, {}}, taken)
	saved, err := chain.Save(nil)
	require.NoError(t, err)
	require.Empty(t, saved)
}
