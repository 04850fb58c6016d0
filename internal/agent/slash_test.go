package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSlash(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in, name, rest string
	}{
		{"/deep-research x", "deep-research", "x"},
		{"/deep-research", "deep-research", ""},
		{"/deep-research\nfoo\nbar", "deep-research", "foo\nbar"},
		{"/deep-research\u3000量子", "deep-research", "量子"},
		{"/deep-research\u00a0x", "deep-research", "x"},
		{"/a1-2b  ", "a1-2b", ""},
		{"", "", ""},
		{"/", "", ""},
		{"/ a", "", ""},
		{" /deep-research", "", ""},
		{"text /deep-research", "", ""},
		{"/Deep-research", "", ""},
		{"/My-Skill", "", ""},
		{"/deep_research", "", ""},
		{"/deep-research,", "", ""},
		{"/deep-research/x", "", ""},
		{"/deep-research\u200b", "", ""},
		{"/etc/passwd", "", ""},
		{"//a", "", ""},
		{"/a--b", "", ""},
		{"/a-", "", ""},
		{"/-a", "", ""},
		{"/a\xff", "", ""},
		{"/help x", "", ""},
		{"/goal x", "", ""},
		{"/bootstrap", "", ""},
		{"/memory", "", ""},
		{"/models", "", ""},
		{"/new", "", ""},
		{"/status", "", ""},
		{"/newer", "newer", ""},
	} {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			name, rest, ok := ParseSlash(tc.in)
			require.Equal(t, tc.name, name)
			require.Equal(t, tc.rest, rest)
			require.Equal(t, tc.name != "", ok)
		})
	}
}
