package middleware

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// transcript makes messages from a short notation: "ai a b" asks for calls a and
// b, "ai !a" for one that is invalid, "tool a" is a result, "human" a message.
type transcript []thread.Message

func (tr transcript) ai(ids ...string) transcript {
	m := thread.Message{ID: fmt.Sprint("m", len(tr)), Role: thread.RoleAI}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, thread.ToolCall{Name: "tool_" + id, ID: id, Args: json.RawMessage("{}")})
	}
	return append(tr, m)
}

func (tr transcript) invalid(id string) transcript {
	m := thread.Message{ID: fmt.Sprint("m", len(tr)), Role: thread.RoleAI}
	m.InvalidToolCalls = []thread.InvalidToolCall{{Name: "tool_" + id, ID: id, Error: "the text ends in the middle"}}
	return append(tr, m)
}

func (tr transcript) tool(id string) transcript {
	return append(tr, thread.ToolResult(fmt.Sprint("m", len(tr)), thread.ToolCall{ID: id, Name: "tool_" + id}, thread.ToolSuccess, "result"))
}

func (tr transcript) human() transcript {
	return append(tr, thread.Human(fmt.Sprint("m", len(tr)), "go on"))
}

// repaired is the request that the middleware makes of a transcript.
func (tr transcript) repaired(t require.TestingT) []thread.Message {
	run := &Run{}
	for i := range tr {
		run.Messages = append(run.Messages, tr[i].Digest(int64(i)))
	}
	request := &Request{}
	require.NoError(t, (&DanglingToolCall{}).EditRequest(nil, run, request))
	for _, e := range request.Edits {
		require.Equal(t, agent.EditAfter, e.Op)
		require.Equal(t, thread.RoleTool, e.Role)
		require.Equal(t, "tool_"+e.Call, e.Name)
	}
	out, err := agent.ApplyEdits(tr, request.Edits, agent.Sources{})
	require.NoError(t, err)
	return out
}

// story writes messages in one line: "ai", "tool a", "missing a", "human".
func story(messages []thread.Message) []string {
	var out []string
	for _, m := range messages {
		switch {
		case m.Role == thread.RoleTool && m.Status == thread.ToolError:
			out = append(out, "missing "+m.ToolCallID)
		case m.Role == thread.RoleTool:
			out = append(out, "tool "+m.ToolCallID)
		default:
			out = append(out, string(m.Role))
		}
	}
	return out
}

func TestDanglingToolCall(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		in   transcript
		want []string
	}{
		{"nothing", nil, nil},
		{"no calls", transcript{}.human().ai().human(), []string{"human", "ai", "human"}},
		{"all answered", transcript{}.human().ai("a", "b").tool("a").tool("b"), []string{"human", "ai", "tool a", "tool b"}},
		{"B01 stopped before any result", transcript{}.human().ai("a").human(), []string{"human", "ai", "missing a", "human"}},
		{"one of two", transcript{}.ai("a", "b").tool("a"), []string{"ai", "tool a", "missing b"}},
		{"the other of two", transcript{}.ai("a", "b").tool("b").human(), []string{"ai", "tool b", "missing a", "human"}},
		{"several come in the order of the calls", transcript{}.ai("a", "b", "c").human(), []string{"ai", "missing a", "missing b", "missing c", "human"}},
		{"a message between call and result", transcript{}.ai("a").human().tool("a"), []string{"ai", "human", "tool a"}},
		{"a message between the results", transcript{}.ai("a", "b").tool("a").human().tool("b"), []string{"ai", "tool a", "human", "tool b"}},
		{"the last message asks", transcript{}.human().ai("a"), []string{"human", "ai", "missing a"}},
		{"the same id in two turns", transcript{}.ai("a").tool("a").ai("a").tool("a"), []string{"ai", "tool a", "ai", "tool a"}},
		{"the same id, the second open", transcript{}.ai("a").tool("a").ai("a"), []string{"ai", "tool a", "ai", "missing a"}},
		{"the same id, one late result", transcript{}.ai("a").ai("a").tool("a"), []string{"ai", "ai", "tool a", "missing a"}},
		{"the same id twice in a message", transcript{}.ai("a", "a").tool("a").tool("a"), []string{"ai", "tool a", "tool a"}},
		{"the same id twice, one result", transcript{}.ai("a", "a").tool("a"), []string{"ai", "tool a", "missing a"}},
		{"a result after the next answer is one", transcript{}.ai("a").ai().tool("a"), []string{"ai", "ai", "tool a"}},
		{"a result before its call is none", transcript{}.tool("a").ai("a"), []string{"tool a", "ai", "missing a"}},
		{"an invalid call", transcript{}.invalid("a").human(), []string{"ai", "missing a", "human"}},
		{"an invalid call that was answered", transcript{}.invalid("a").tool("a"), []string{"ai", "tool a"}},
		{"a call without an id is not ours", transcript{}.ai("").ai(" "), []string{"ai", "ai"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, story(tc.in.repaired(t)))
		})
	}
}

func TestDanglingTextsTellWhatHappened(t *testing.T) {
	t.Parallel()
	text := func(tr transcript) string { return tr.repaired(t)[1].Content.String() }
	require.Contains(t, text(transcript{}.ai("a")), "It may have run in part")
	require.Contains(t, text(transcript{}.invalid("a")), "the text ends in the middle")
}

// However a history was torn, afterwards every call has its result, and nothing
// that was there is gone.
func TestEveryCallHasAResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		var tr transcript
		for range rapid.IntRange(0, 12).Draw(t, "messages") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				tr = tr.human()
			case 1:
				tr = tr.ai(rapid.SliceOfN(id, 0, 3).Draw(t, "calls")...)
			case 2:
				tr = tr.invalid(id.Draw(t, "invalid"))
			default:
				tr = tr.tool(id.Draw(t, "result"))
			}
		}

		out := tr.repaired(t)

		asked, answered := map[string]int{}, map[string]int{}
		kept := 0
		for i := len(out) - 1; i >= 0; i-- { // from the end: a result answers a call before it
			m := &out[i]
			if kept < len(tr) && m.ID == tr[len(tr)-1-kept].ID {
				kept++
			}
			if m.Role == thread.RoleTool {
				answered[m.ToolCallID]++
			}
			for n := range m.CallCount() {
				call, _, _ := m.CallAt(n)
				asked[call.ID]++
				require.GreaterOrEqual(t, answered[call.ID], asked[call.ID], "call %s of %s in %v", call.ID, m.ID, story(out))
			}
		}
		require.Equal(t, len(tr), kept, "no message is lost or moved")

		// A second pass finds nothing to do.
		again := transcript(out)
		require.Equal(t, story(out), story(again.repaired(t)))
	})
}
