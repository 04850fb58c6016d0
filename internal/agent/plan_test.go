package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func examplePlan() *Plan {
	return &Plan{
		Summary: Summary{
			Agent: "lead_agent", Model: "gpt-5", MaxTurns: 100,
			Tools:     []Brief{{Name: "ls", Class: ClassRead, Timeout: time.Minute}, {Name: "bash", Class: ClassUnsafe}},
			ModelCall: ModelCallPolicy{Timeout: time.Minute, MaxAttempts: 3},
			Loop:      LoopSettings{Enabled: true, Warn: 3, Hard: 5, FreqOverrides: map[string]FreqLimit{"bash": {150, 300}, "ls": {1, 2}, "grep": {3, 4}}},
		},
		Prompt: "You are <DeerFlow> & friends",
		Tools: []ToolSpec{
			{Name: "read_file", Key: KeyRange, Parameters: json.RawMessage(`{ "type": "object" }`)},
			{Name: "write_file", Key: KeyAll},
			{Name: "grep"},
		},
		Model: json.RawMessage(`{"name":"gpt-5","use":"openai"}`),
	}
}

func TestAPlanHasOneNameForAllTime(t *testing.T) {
	t.Parallel()
	hash, data, err := examplePlan().Hash()
	require.NoError(t, err)
	require.Len(t, hash, 24)
	for range 20 { // maps come in another order each time
		again, _, err := examplePlan().Hash()
		require.NoError(t, err)
		require.Equal(t, hash, again)
	}
	stored, err := DecodePlan(data)
	require.NoError(t, err)
	again, _, err := stored.Hash()
	require.NoError(t, err)
	require.Equal(t, hash, again, "a plan that was stored keeps its name")

	other := examplePlan()
	other.Summary.MaxTurns++
	changed, _, err := other.Hash()
	require.NoError(t, err)
	require.NotEqual(t, hash, changed)
}

func TestAnEmptyPlanKeepsItsNameToo(t *testing.T) {
	t.Parallel()
	hash, data, err := (&Plan{}).Hash()
	require.NoError(t, err)
	stored, err := DecodePlan(data)
	require.NoError(t, err)
	again, _, err := stored.Hash()
	require.NoError(t, err)
	require.Equal(t, hash, again)
}

func TestAPlanThatCannotBeWrittenOrRead(t *testing.T) {
	t.Parallel()
	_, _, err := (&Plan{Summary: Summary{Agent: "lead_agent"}, Model: json.RawMessage("{")}).Hash()
	require.ErrorContains(t, err, `encode plan of agent "lead_agent"`)
	_, err = DecodePlan([]byte("{"))
	require.ErrorContains(t, err, "decode a stored plan")
}

func TestFindingATool(t *testing.T) {
	t.Parallel()
	p := examplePlan()
	spec, ok := p.Spec("write_file")
	require.True(t, ok)
	require.Equal(t, KeyAll, spec.Key)
	_, ok = p.Spec("Write_File")
	require.False(t, ok)
	brief, ok := p.Summary.Tool("bash")
	require.True(t, ok)
	require.Equal(t, ClassUnsafe, brief.Class)
	_, ok = p.Summary.Tool("")
	require.False(t, ok)
}

func TestDigestOfKnowsTheKeysOfCalls(t *testing.T) {
	t.Parallel()
	p := examplePlan()
	m := thread.Message{
		ID: "r1-1", Role: thread.RoleAI,
		ToolCalls: []thread.ToolCall{
			{Name: "read_file", ID: "c1", Args: json.RawMessage(`{"path":"/a","start_line":10}`)},
			{Name: "read_file", ID: "c2", Args: json.RawMessage(`{"path":"/a","start_line":60}`)},
			{Name: "write_file", ID: "c3", Args: json.RawMessage(`{"path":"/a","content":"x"}`)},
			{Name: "write_file", ID: "c4", Args: json.RawMessage(`{"path":"/a","content":"y"}`)},
			{Name: "unknown", ID: "c5", Args: json.RawMessage(`{"path":"/a"}`)},
		},
		InvalidToolCalls: []thread.InvalidToolCall{
			{Name: "bash", ID: "c6", Args: `{"command":`, Error: "the text ends in the middle"},
			{Name: "bash", ID: "c7", Args: `{"command":`, Error: "the text ends in the middle"},
			{Name: "bash", ID: "c8", Args: `{"command":"`, Error: "the text ends in the middle"},
		},
	}
	d := p.DigestOf(&m, 4)
	require.EqualValues(t, 4, d.Pos)
	require.Len(t, d.Calls, 8)
	for _, c := range d.Calls {
		require.Regexp(t, twelveHexDigits, c.Key, "call %s", c.ID)
	}
	require.Equal(t, d.Calls[0].Key, d.Calls[1].Key, "the same 200 lines")
	require.NotEqual(t, d.Calls[2].Key, d.Calls[3].Key, "another content is another write")
	require.Equal(t, CallKey(KeySalient, m.ToolCalls[4]), d.Calls[4].Key, "an unknown tool goes by the usual rule")
	require.Equal(t, d.Calls[5].Key, d.Calls[6].Key, "the same broken call again is a loop, too")
	require.NotEqual(t, d.Calls[6].Key, d.Calls[7].Key)
	require.Equal(t, "the text ends in the middle", d.Calls[7].Invalid)
}
