package model

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestA17Thinking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, text, reasoning string }{
		"closed":                   {"<think>plan</think>answer", "answer", "plan"},
		"blank lines around":       {"\n<think>\nplan\n</think>\n\nanswer", "answer", "\nplan\n"},
		"never closed":             {"<think>plan", "", "plan"},
		"in a code span":           {"use the `<think>` tag", "use the `<think>` tag", ""},
		"in a double code span":    {"use ``a ` <think>`` tag", "use ``a ` <think>`` tag", ""},
		"in a fence":               {"see\n```\n<think>x</think>\n\n```\nend", "see\n```\n<think>x</think>\n\n```\nend", ""},
		"both":                     {"<think>p</think>say `<think>` now", "say `<think>` now", "p"},
		"mixed into text":          {"Hello <think>plan</think>there", "Hello there", "plan"},
		"two thoughts":             {"<think>a</think>x<think>b</think>y", "xy", "ab"},
		"a word, never closed":     {"the <think> tag is odd", "the <think> tag is odd", ""},
		"a lone backtick":          {"it`s odd\n\n<think>p</think>x", "it`s odd\n\nx", "p"},
		"other spelling":           {"<THINKING>p</THINKING>x", "x", "p"},
		"closing only":             {"plan of it\n</think>\n\nanswer", "answer", "plan of it\n"},
		"closing only, at the end": {"plan</think>", "", "plan"},
		"closing word in a line":   {"the </think> tag", "the </think> tag", ""},
		"closing after a thought":  {"<think>a</think>b\n</think>\nc", "b\n</think>\nc", "a"},
		"less than":                {"a < b and <thin> or </", "a < b and <thin> or </", ""},
		"blanks only":              {" \n ", " \n ", ""},
		"blanks kept":              {"  indented", "  indented", ""},
		"ends in a tag":            {"x <thi", "x <thi", ""},
		"ends in a backtick":       {"x `", "x `", ""},
		"other closing inside":     {"<think>a</thinking>b</think>c", "c", "a</thinking>b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, reasoning := SplitThinking(c.in)
			require.Equal(t, c.text, text)
			require.Equal(t, c.reasoning, reasoning)
			for size := 1; size < len(c.in); size++ {
				text, reasoning := splitInPieces(c.in, size)
				require.Equal(t, c.text, text, "in pieces of %d", size)
				require.Equal(t, c.reasoning, reasoning, "in pieces of %d", size)
			}
		})
	}
}

func splitInPieces(s string, size int) (text, reasoning string) {
	var t thinkSplitter
	var segments []segment
	for len(s) > 0 {
		n := min(size, len(s))
		segments = append(segments, t.push(s[:n])...)
		s = s[n:]
	}
	for _, seg := range append(segments, t.finish()...) {
		switch {
		case seg.recast:
			text, reasoning = "", reasoning+text
		case seg.reasoning:
			reasoning += seg.text
		default:
			text += seg.text
		}
	}
	return text, reasoning
}

// However a text is cut, it comes out the same, and nothing but tags is lost.
func TestA17AnyCut(t *testing.T) {
	t.Parallel()
	parts := []string{"<think>", "</think>", "<thinking>", "</thinking>", "`", "``", "```", "\n", "\n\n", " ", "a", "b <", "<th", "</", ">", "é"}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 20).Draw(t, "parts"), "")
		text, reasoning := SplitThinking(in)
		size := rapid.IntRange(1, 7).Draw(t, "size")
		cutText, cutReasoning := splitInPieces(in, size)
		require.Equal(t, text, cutText)
		require.Equal(t, reasoning, cutReasoning)
		letters := func(s string) int { return strings.Count(s, "a") + strings.Count(s, "b <") + strings.Count(s, "é") }
		require.Equal(t, letters(in), letters(text)+letters(reasoning))
	})
}

func TestA17InAStream(t *testing.T) {
	t.Parallel()
	h := streamed(t, said("<th")+said("ink>pl")+said("an</thi")+said("nk>\n\nUse `<th")+said("ink>`.")+ended("stop"))
	require.NoError(t, h.err)
	require.Equal(t, "Use `<think>`.", h.text())
	require.Equal(t, "Use `<think>`.", h.resp.Message.Content.String())
	require.Equal(t, "plan", h.reasoning())
	require.Equal(t, "plan", h.resp.Message.Reasoning())
	require.False(t, h.resp.Rewritten)

	h = streamed(t, said("plan\n")+said("</think>\nanswer")+ended("stop"))
	require.NoError(t, h.err)
	require.Equal(t, "answer", h.resp.Message.Content.String())
	require.Equal(t, "plan\n", h.resp.Message.Reasoning())
	require.True(t, h.resp.Rewritten, "the pieces showed the plan as text")
}
