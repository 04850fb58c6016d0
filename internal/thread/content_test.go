package thread

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestContentReadsWhatClientsSend(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, out, text string
		blocks              bool
	}{
		{name: "text", in: `"hello"`, out: `"hello"`, text: "hello"},
		{name: "empty text", in: `""`, out: `""`},
		{name: "null", in: `null`, out: `""`},
		{name: "white space around", in: " \n\"a\"\t", out: `"a"`, text: "a"},
		{name: "no blocks", in: `[]`, out: `[]`, blocks: true},
		{name: "one text block", in: `[{"type":"text","text":"a"}]`, out: `[{"type":"text","text":"a"}]`, text: "a", blocks: true},
		{name: "a block without a list", in: `{"type":"text","text":"a"}`, out: `[{"type":"text","text":"a"}]`, text: "a", blocks: true},
		{name: "bare strings in the list", in: `["a","b"]`, out: `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, text: "a\nb", blocks: true},
		{name: "null in the list", in: `[null]`, out: `[{"type":"text","text":""}]`, blocks: true},
		{name: "a text block without text", in: `[{"type":"text"}]`, out: `[{"type":"text","text":""}]`, blocks: true},
		{
			name: "image between texts", text: "look\nthere", blocks: true,
			in:  `[{"type":"text","text":"look"}, {"type":"image_url", "image_url":{"url":"data:x"}}, {"type":"text","text":"there"}]`,
			out: `[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:x"}},{"type":"text","text":"there"}]`,
		},
		{
			name: "thinking is not visible", text: "42", blocks: true,
			in: `[{"type":"thinking","thinking":"hm"},{"type":"output_text","text":"42"}]`, out: `[{"type":"thinking","thinking":"hm"},{"type":"output_text","text":"42"}]`,
		},
		{
			name: "a foreign block with a text that is none", blocks: true,
			in: `[{"type":"custom","text":{"a":1}}]`, out: `[{"type":"custom","text":{"a":1}}]`,
		},
		{name: "a block without a type", in: `[{"url":"u"}]`, out: `[{"url":"u"}]`, blocks: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var c Content
			require.NoError(t, json.Unmarshal([]byte(tc.in), &c))
			require.Equal(t, tc.blocks, c.IsBlocks())
			require.Equal(t, tc.text, c.String())
			out, err := json.Marshal(c)
			require.NoError(t, err)
			require.Equal(t, tc.out, string(out))
		})
	}
}

func TestContentRefusesWhatIsNoContent(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`5`:                            "must be a string or a list of blocks, got 5",
		`true`:                         "must be a string or a list of blocks, got true",
		`[5]`:                          "content block",
		`[["a"]]`:                      "content block",
		`[{"type":5}]`:                 "content block",
		`[{"type":"text","text":[1]}]`: "its text must be a string, got [1]",
	} {
		var c Content
		require.ErrorContains(t, json.Unmarshal([]byte(in), &c), want, "content %s", in)
	}
}

func TestContentForgetsWhatItHeldBefore(t *testing.T) {
	t.Parallel()
	c := Blocks(Block{Type: "text", Text: "old"})
	require.NoError(t, json.Unmarshal([]byte(`"new"`), &c))
	require.False(t, c.IsBlocks())
	require.Equal(t, "new", c.String())
	require.NoError(t, json.Unmarshal([]byte(`["a"]`), &c))
	require.Equal(t, "a", c.String())
}

// anyContent draws text or blocks of any kind, all valid UTF-8.
func anyContent() *rapid.Generator[Content] {
	block := rapid.Custom(func(t *rapid.T) Block {
		text := rapid.String().Draw(t, "text")
		kind := rapid.SampledFrom([]string{"text", "thinking", "image_url", "output_text"}).Draw(t, "kind")
		if kind == "text" {
			return Block{Type: kind, Text: text}
		}
		raw, err := json.Marshal(map[string]any{"type": kind, kind: text, "text": text})
		if err != nil {
			t.Fatalf("encode a block: %v", err)
		}
		return Block{Type: kind, Text: text, Raw: raw}
	})
	return rapid.Custom(func(t *rapid.T) Content {
		if rapid.Bool().Draw(t, "plain") {
			return Text(rapid.String().Draw(t, "content"))
		}
		return Blocks(rapid.SliceOfN(block, 0, 4).Draw(t, "blocks")...)
	})
}

func TestContentComesBackAsItWent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyContent().Draw(t, "content")
		data, err := json.Marshal(c)
		require.NoError(t, err)
		var back Content
		require.NoError(t, json.Unmarshal(data, &back))
		require.Empty(t, cmp.Diff(c, back, cmp.AllowUnexported(Content{})), "through %s", data)
	})
}

func TestAppendKeepsWhatStoodThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyContent().Draw(t, "content")
		text := rapid.StringN(1, 20, -1).Draw(t, "text")
		before, err := json.Marshal(c)
		require.NoError(t, err)

		got := c.Append(text)

		require.Equal(t, c.IsBlocks(), got.IsBlocks())
		require.True(t, strings.HasPrefix(got.String(), c.String()))
		require.True(t, strings.HasSuffix(got.String(), text))
		after, err := json.Marshal(c)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "the content that was appended to is not changed")
		again := c.Append("other")
		require.True(t, strings.HasSuffix(got.String(), text), "two appends do not share: %s", again)
	})
}

func TestAppendByKindOfContent(t *testing.T) {
	t.Parallel()
	require.Equal(t, Text("note"), Text("").Append("note"), "no blank line before nothing")
	require.Equal(t, Text("a\n\nnote"), Text("a").Append("note"))
	image := Block{Type: "image_url", Raw: json.RawMessage(`{"type":"image_url"}`)}
	require.Equal(t, Blocks(image, Block{Type: "text", Text: "\n\nnote"}), Blocks(image).Append("note"))
}

func TestPartsOfContent(t *testing.T) {
	t.Parallel()
	require.Empty(t, Text("").Parts())
	require.Equal(t, []Block{{Type: "text", Text: "a"}}, Text("a").Parts())
	blocks := []Block{{Type: "text", Text: "a"}, {Type: "text", Text: "b"}}
	require.Equal(t, blocks, Blocks(blocks...).Parts())
	require.Equal(t, Text(""), Blocks([]Block{}...), "no blocks at all are the empty text")
}

func FuzzContent(f *testing.F) {
	for _, seed := range []string{`"a"`, `null`, `[]`, `{"type":"text"}`, `[{"type":"x","text":1},"b",null]`, `[`, `{"type":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Content
		if json.Unmarshal(data, &c) != nil {
			return
		}
		first, err := json.Marshal(c)
		require.NoError(t, err, "content that was read can be written")
		var again Content
		require.NoError(t, json.Unmarshal(first, &again))
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
		require.Equal(t, c.String(), again.String())
	})
}
