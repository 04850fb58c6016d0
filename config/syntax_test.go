package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSyntaxErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		line string
		hint string
	}{
		"tab":                  {"a: 1\n\tb: 2\n", "2", "tab is not allowed"},
		"tab on the first":     {"a:\n\tb: 2\n", "2", "tab is not allowed"},
		"two colons":           {"a: b: c\n", "1", "quotes"},
		"open bracket":         {"a: 1\nb: [1, 2\nc: 3\n", "2", ""},
		"open quote":           {"a: 1\nb: 'x\nc: 3\n", "2", ""},
		"indented too much":    {"a: 1\n b: 2\n", "2", ""},
		"indented too little":  {"a:\n  - 1\n b: 2\n", "3", ""},
		"unknown anchor":       {"\n\na: 1\nb: *z\n", "4", "quotes"},
		"at sign":              {"a: 1\nb: @b\n", "2", "quotes"},
		"list after a key":     {"a: 1\n- b\n", "2", ""},
		"value below a value":  {"a: 1\nname: x # c\n  foo: 1\n", "3", ""},
		"control character":    {"a: 1\nb: 2\nc: \x01\n", "3", ""},
		"bad escape":           {"a: 1\nb: \"\\q\"\n", "2", ""},
		"wrong in a long list": {"a: [1,\n 2,\n @]\nb: 1\n", "3", ""},
		"second document":      {"a: 1\n---\nb: 1\n", "2", "a config has one"},
		"not UTF-8":            {"a: 1\nb: \xff\n", "2", "not UTF-8"},
		"top is a list":        {"# models\n- name: a\n", "2", "got a list"},
		"top is text":          {"hello\n", "1", `got "hello"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := fails(t, tt.text)
			require.True(t, strings.HasPrefix(got, "c.yaml:"+tt.line+": "), got)
			require.Contains(t, got, tt.hint)
			require.NotContains(t, got, "yaml: line", "the parser's own count misleads")
		})
	}
}
