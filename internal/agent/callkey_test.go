package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/thread"
)

func key(rule KeyRule, name, args string) string {
	return CallKey(rule, thread.ToolCall{Name: name, Args: json.RawMessage(args)})
}

// C02: what counts as the same call although it looks different, and the other
// way round.
func TestCallKeyTellsCallsApart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		rule KeyRule
		tool string
		a, b string
		same bool
	}{
		{"order of keys", KeySalient, "grep", `{"pattern":"x","path":"/a"}`, `{"path":"/a","pattern":"x"}`, true},
		{"order of keys in all", KeyAll, "write_file", `{"path":"/a","content":"x"}`, `{"content":"x","path":"/a"}`, true},
		{"order of keys deep inside", KeyAll, "mcp", `{"a":{"x":1,"y":2}}`, `{"a":{"y":2,"x":1}}`, true},
		{"white space", KeySalient, "ls", `{"path":"/a"}`, " { \"path\" :\n\"/a\" } ", true},
		{"escapes", KeySalient, "ls", `{"path":"/a"}`, `{"path":"\u002fa"}`, true},
		{"null counts as absent", KeySalient, "ls", `{"path":"/a","pattern":null}`, `{"path":"/a"}`, true},
		{"a description is no salient argument", KeySalient, "bash", `{"command":"ls","description":"one"}`, `{"command":"ls","description":"two"}`, true},
		{"another pattern", KeySalient, "grep", `{"pattern":"x","path":"/a"}`, `{"pattern":"y","path":"/a"}`, false},
		{"another path", KeySalient, "ls", `{"path":"/a"}`, `{"path":"/b"}`, false},
		{"another url", KeySalient, "web_fetch", `{"url":"http://a"}`, `{"url":"http://b"}`, false},
		{"another query", KeySalient, "web_search", `{"query":"a"}`, `{"query":"b"}`, false},
		{"another command", KeySalient, "bash", `{"command":"ls"}`, `{"command":"pwd"}`, false},
		{"a list of paths", KeySalient, "ls", `{"path":["/a","/b"]}`, `{"path":["/b","/a"]}`, false},
		{"nothing salient takes all", KeySalient, "add", `{"n":1}`, `{"n":2}`, false},
		{"nothing salient, same", KeySalient, "add", `{"n":1,"m":2}`, `{"m":2,"n":1}`, true},
		{"large numbers", KeySalient, "tweet", `{"id":9007199254740993}`, `{"id":9007199254740992}`, false},
		{"numbers beyond all bounds", KeySalient, "add", `{"n":1e999}`, `{"n":1e998}`, false},
		{"no arguments and null", KeySalient, "now", `{}`, `null`, true},
		{"no arguments and nothing", KeySalient, "now", `{}`, ``, true},
		{"no arguments and an empty text", KeySalient, "now", `{}`, `""`, true},
		{"encoded twice", KeySalient, "ls", `{"path":"/a"}`, `"{\"path\":\"/a\"}"`, true},
		{"encoded twice, another", KeySalient, "ls", `{"path":"/a"}`, `"{\"path\":\"/b\"}"`, false},
		{"text that is no object", KeySalient, "ls", `"/a"`, `"/b"`, false},
		{"the same text that is no object", KeySalient, "ls", `"/a"`, `"/a"`, true},
		{"a list", KeySalient, "ls", `[1]`, `[2]`, false},
		{"broken arguments", KeySalient, "ls", `{"path":`, `{"path":"`, false},
		{"write_file with other content", KeyAll, "write_file", `{"path":"/a","content":"x"}`, `{"path":"/a","content":"y"}`, false},
		{"str_replace with another text", KeyAll, "str_replace", `{"path":"/a","old":"x","new":"y"}`, `{"path":"/a","old":"x","new":"z"}`, false},
		{"lines 1-50 and 60-150", KeyRange, "read_file", `{"path":"/a","start_line":1,"end_line":50}`, `{"path":"/a","start_line":60,"end_line":150}`, true},
		{"lines 1-50 and 250-300", KeyRange, "read_file", `{"path":"/a","start_line":1,"end_line":50}`, `{"path":"/a","start_line":250,"end_line":300}`, false},
		{"a range that is reversed", KeyRange, "read_file", `{"path":"/a","start_line":150,"end_line":60}`, `{"path":"/a","start_line":60,"end_line":150}`, true},
		{"one line further", KeyRange, "read_file", `{"path":"/a","start_line":10}`, `{"path":"/a","start_line":11}`, true},
		{"the last line of a bucket and the next", KeyRange, "read_file", `{"path":"/a","start_line":200}`, `{"path":"/a","start_line":201}`, false},
		{"the first and the last line of a bucket", KeyRange, "read_file", `{"path":"/a","start_line":201}`, `{"path":"/a","start_line":400}`, true},
		{"no lines begin at 1", KeyRange, "read_file", `{"path":"/a"}`, `{"path":"/a","start_line":1,"end_line":200}`, true},
		{"only an end", KeyRange, "read_file", `{"path":"/a","end_line":300}`, `{"path":"/a","start_line":1,"end_line":300}`, true},
		{"lines below 1 count as 1", KeyRange, "read_file", `{"path":"/a","start_line":-7}`, `{"path":"/a","start_line":0}`, true},
		{"lines as text", KeyRange, "read_file", `{"path":"/a","start_line":"250"}`, `{"path":"/a","start_line":250}`, true},
		{"lines that are none", KeyRange, "read_file", `{"path":"/a","start_line":"x"}`, `{"path":"/a","start_line":null}`, true},
		{"lines beyond all bounds", KeyRange, "read_file", `{"path":"/a","start_line":1e300}`, `{"path":"/a","start_line":1e301}`, true},
		{"the same lines of another file", KeyRange, "read_file", `{"path":"/a"}`, `{"path":"/b"}`, false},
		{"a whole file and its middle", KeyRange, "read_file", `{"path":"/a"}`, `{"path":"/a","start_line":900}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a, b := key(tc.rule, tc.tool, tc.a), key(tc.rule, tc.tool, tc.b)
			if tc.same {
				require.Equal(t, a, b)
			} else {
				require.NotEqual(t, a, b)
			}
			require.NotEqual(t, a, key(tc.rule, tc.tool+"2", tc.a), "another tool is another call")
		})
	}
}

var twelveHexDigits = regexp.MustCompile(`^[0-9a-f]{12}$`)

func anyArguments() *rapid.Generator[map[string]any] {
	value := rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil), rapid.SliceOfN(rapid.String(), 0, 3).AsAny())
	name := rapid.OneOf(rapid.SampledFrom([]string{"path", "url", "query", "command", "start_line", "end_line", "content"}), rapid.String())
	return rapid.MapOfN(name, value, 0, 6)
}

func TestCallKeyDoesNotDependOnTheOrderOfKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		args := anyArguments().Draw(t, "args")
		rule := rapid.SampledFrom([]KeyRule{KeySalient, KeyAll, KeyRange}).Draw(t, "rule")
		var parts []string
		for name, value := range args {
			n, err := json.Marshal(name)
			require.NoError(t, err)
			v, err := json.Marshal(value)
			require.NoError(t, err)
			parts = append(parts, string(n)+":"+string(v))
		}
		slices.Sort(parts)
		shuffled := rapid.Permutation(parts).Draw(t, "order")
		a := key(rule, "tool", "{"+strings.Join(parts, ",")+"}")
		require.Equal(t, a, key(rule, "tool", "{"+strings.Join(shuffled, ", ")+"}"))
		require.Regexp(t, twelveHexDigits, a)
	})
}

func TestCallKeyTakesAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := json.RawMessage(rapid.SliceOf(rapid.Byte()).Draw(t, "args"))
		for _, rule := range []KeyRule{KeySalient, KeyAll, KeyRange, "other"} {
			require.Regexp(t, twelveHexDigits, CallKey(rule, thread.ToolCall{Name: "t", Args: raw}))
		}
		_ = Salient(raw)
	})
}

func TestBucketsOfLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.IntRange(1, 5000)
		read := func(from, to int) string {
			return key(KeyRange, "read_file", fmt.Sprintf(`{"path":"/a","start_line":%d,"end_line":%d}`, from, to))
		}
		a, b, c, d := line.Draw(t, "a"), line.Draw(t, "b"), line.Draw(t, "c"), line.Draw(t, "d")
		bucket := func(n int) int { return (n - 1) / 200 }
		same := bucket(min(a, b)) == bucket(min(c, d)) && bucket(max(a, b)) == bucket(max(c, d))
		require.Equal(t, same, read(a, b) == read(c, d))
	})
}

func TestHashKeysDependsOnTheOrderGiven(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, HashKeys([]string{"a", "b"}), HashKeys([]string{"b", "a"}))
	require.NotEqual(t, HashKeys([]string{"a", "b"}), HashKeys([]string{"ab"}))
	require.NotEqual(t, HashKeys([]string{"a"}), HashKeys([]string{"a", "a"}))
}

func TestSalientIsOneLineForPeople(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		``:                                 "",
		`null`:                             "",
		`{}`:                               "",
		`[1]`:                              "",
		`{"path":`:                         "",
		`{"n":1}`:                          "",
		`{"command":"ls -la\n\t| head"}`:   "ls -la | head",
		`{"path":"/a","pattern":"x"}`:      "/a",
		`{"path":"","pattern":"x"}`:        "x",
		`{"path":null,"url":"http://a"}`:   "http://a",
		`{"path":["/a"],"query":" a  b "}`: "a b",
		`"{\"path\":\"/a\"}"`:              "/a",
	} {
		require.Equal(t, want, Salient(json.RawMessage(args)), "arguments %s", args)
	}
	require.Empty(t, Salient(nil))
}
