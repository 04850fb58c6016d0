package thread

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPrefixCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"abc", 0, ""},
		{"abc", -1, ""},
		{"", -1, ""},
		{"aé", 2, "a"},
		{"aé", 3, "aé"},
		{"世界", 5, "世"},
		{"🙂", 3, ""},
	} {
		require.Equal(t, tc.want, Prefix(tc.in, tc.n), "%q at %d", tc.in, tc.n)
	}
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(-3, 40).Draw(t, "n")
		got := Prefix(s, n)
		require.True(t, strings.HasPrefix(s, got))
		require.LessOrEqual(t, len(got), max(n, 0))
		require.True(t, utf8.ValidString(got))
		if len(s) > n && n > 0 {
			require.Greater(t, len(got), n-utf8.UTFMax, "no more is cut than a character")
		}
	})
	rapid.Check(t, func(t *rapid.T) { // bytes that are no characters
		s, n := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")), rapid.IntRange(-3, 40).Draw(t, "n")
		require.True(t, strings.HasPrefix(s, Prefix(s, n)))
	})
}

func TestDigestSaysWhatMiddlewaresDecideBy(t *testing.T) {
	t.Parallel()
	short := json.RawMessage(`{"path":"/mnt"}`)
	long := json.RawMessage(`{"content":"` + strings.Repeat("x", MaxDigestArgs) + `"}`)
	m := Message{
		ID: "r1-1", Role: RoleAI, Content: Text(strings.Repeat("a", MaxDigestText-1) + "é"),
		ToolCalls: []ToolCall{{Name: "ls", ID: "c1", Args: short}, {Name: "write_file", ID: "c2", Args: long}},
		InvalidToolCalls: []InvalidToolCall{
			{Name: "bash", ID: "c3", Args: `{"command":`, Error: strings.Repeat("e", 2*MaxDigestText)},
		},
		Usage: &Usage{OutputTokens: 12},
	}
	require.Equal(t, Digest{
		ID: "r1-1", Role: RoleAI, Pos: 7, Tokens: 149, Size: 257, Text: strings.Repeat("a", MaxDigestText-1),
		Calls: []CallDigest{
			{ID: "c1", Name: "ls", Args: short},
			{ID: "c2", Name: "write_file"},
			{ID: "c3", Name: "bash", Invalid: strings.Repeat("e", MaxDigestText)},
		},
	}, m.Digest(7))

	result := ToolResult("r1-2", m.ToolCalls[0], ToolError, "Error: no such directory")
	require.Equal(t, Digest{
		ID: "r1-2", Role: RoleTool, Name: "ls", Pos: 8, Tokens: 10, Size: 24, Text: "Error: no such directory", CallID: "c1", Error: true,
	}, result.Digest(8))

	thought := Message{ID: "r1-3", Role: RoleAI, Content: Blocks(Block{Type: "thinking", Raw: json.RawMessage(`{"type":"thinking"}`)})}
	thought.SetKwarg(KeyHidden, true)
	require.Equal(t, Digest{ID: "r1-3", Role: RoleAI, Pos: 9, Tokens: 1004, Empty: true, Hidden: true}, thought.Digest(9))
}

func TestDigestKeepsArgumentsUpToTheLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		size int
		kept bool
	}{{MaxDigestArgs, true}, {MaxDigestArgs + 1, false}} {
		args := json.RawMessage(`{"a":"` + strings.Repeat("x", tc.size-len(`{"a":""}`)) + `"}`)
		require.Len(t, args, tc.size)
		m := Message{ToolCalls: []ToolCall{{Name: "bash", Args: args}}}
		require.Equal(t, tc.kept, m.Digest(0).Calls[0].Args != nil, "%d bytes", tc.size)
	}
}

// Whatever a model writes, a digest stays small: it goes through history.
func TestDigestStaysSmall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"a", "é", "世", "🙂", "<"}).Draw(t, "character")
		long := strings.Repeat(text, rapid.IntRange(0, 5000).Draw(t, "times"))
		args, err := json.Marshal(map[string]string{"content": long})
		require.NoError(t, err)
		m := Message{
			ID: "m", Role: RoleAI, Name: long, Content: Text(long),
			ToolCalls:        []ToolCall{{Name: long, ID: "c1", Args: args}},
			InvalidToolCalls: []InvalidToolCall{{Name: long, ID: "c2", Args: long, Error: long}},
		}
		d := m.Digest(1)
		require.LessOrEqual(t, len(d.Name), MaxDigestName)
		require.LessOrEqual(t, len(d.Text), MaxDigestText)
		require.Equal(t, long == "", d.Empty)
		for _, c := range d.Calls {
			require.LessOrEqual(t, len(c.Name), MaxDigestName)
			require.LessOrEqual(t, len(c.Invalid), MaxDigestText)
			require.LessOrEqual(t, len(c.Args), MaxDigestArgs)
		}
	})
}
