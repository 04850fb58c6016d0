package uploads

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestReadOutline(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		want     Outline
	}{
		{"nothing", "", Outline{}},
		{"markdown", "\ufeff# One\n\ntext\n## Two ##\r\n#no\n####### seven", Outline{Headings: []Heading{{1, "One"}, {4, "Two"}}}},
		{"no line break at the end", "text\n# End", Outline{Headings: []Heading{{2, "End"}}}},
		{"bold", "**Summary**\n**not** a heading\n__Method:__\n", Outline{Headings: []Heading{{1, "Summary"}, {3, "Method:"}}}},
		{"bold in a heading", "# **One**\n", Outline{Headings: []Heading{{1, "One"}}}},
		{
			"parts of a report", "PART I\nItem 1A. Risk Factors\nSection 2 of the law applies.\nSection 2: Terms\nParting words\n",
			Outline{Headings: []Heading{{1, "PART I"}, {2, "Item 1A. Risk Factors"}, {4, "Section 2: Terms"}}},
		},
		{"code", "```sh\n# a comment\n~~~\n# another\n```\n# Real\n", Outline{Headings: []Heading{{6, "Real"}}}},
		{"code that does not end", "~~~\n# a comment\n", Outline{Preview: []string{"~~~", "# a comment"}}},
		{"no headings", "\n a \n\nb\nc\nd\ne\nf\n", Outline{Preview: []string{"a", "b", "c", "d", "e"}}},
		{"a long line", strings.Repeat("ä", 5000) + "\nx", Outline{Preview: []string{strings.Repeat("ä", 98) + "...", "x"}}},
		{"a long heading", "# " + strings.Repeat("x", 300), Outline{Headings: []Heading{{1, strings.Repeat("x", 197) + "..."}}}},
		{"a line of bold text is no heading", "**" + strings.Repeat("x", 200) + "**", Outline{Preview: []string{"**" + strings.Repeat("x", 195) + "..."}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadOutline(strings.NewReader(tc.in))
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestAnOutlineSaysThatThereIsMoreOnlyIfThereIs(t *testing.T) {
	t.Parallel()
	for n, more := range map[int]bool{49: false, 50: false, 51: true} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "# %d\ntext\n", i)
		}
		got, err := ReadOutline(strings.NewReader(b.String()))
		require.NoError(t, err)
		require.Len(t, got.Headings, min(n, 50))
		require.Equal(t, more, got.More)
		require.Empty(t, got.Preview)
	}
}

func TestAnOutlineThatCannotBeRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := ReadOutline(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "line 1")
}
