package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinesOfCitations(t *testing.T) {
	t.Parallel()
	flags := func(n int) []Citation {
		list := make([]Citation, n)
		for i := range list {
			list[i] = Citation{Place: "answer", URL: "https://a.org", Grade: "unknown"}
		}
		return list
	}
	var none *Citations
	require.Empty(t, none.Lines())
	require.Empty(t, (&Citations{Checked: 3}).Lines())
	for head, c := range map[string]Citations{
		"The only citation points at a page that was not fetched:": {Checked: 1, Flagged: flags(1)},
		"1 of 3 citations points at a page that was not fetched:":  {Checked: 3, Flagged: flags(1)},
		"2 of 2 citations point at pages that were not fetched:":   {Checked: 2, Flagged: flags(2)},
	} {
		lines := c.Lines()
		require.Equal(t, head, lines[0])
		require.Len(t, lines, 1+len(c.Flagged))
	}
	many := (&Citations{Checked: 30, Flagged: flags(maxLines + 3)}).Lines()
	require.Len(t, many, maxLines+2)
	require.Equal(t, "and 3 more", many[maxLines+1])
}
