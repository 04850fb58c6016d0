package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

func TestTheNewestReadInViewCounts(t *testing.T) {
	t.Parallel()
	read := func(path, hash string) thread.Digest {
		return thread.Digest{Role: thread.RoleTool, Read: &thread.FileMark{Path: path, Hash: hash}}
	}
	for _, tc := range []struct {
		name     string
		target   string
		messages []thread.Digest
		off      bool
		check    bool
		seen     string
	}{
		{"10.5-1 never read", "/a", []thread.Digest{read("/b", "1")}, false, true, ""},
		{"read", "/a", []thread.Digest{read("/a", "1"), read("/b", "2")}, false, true, "1"},
		{"read twice", "/a", []thread.Digest{read("/a", "1"), read("/a", "2"), {Role: thread.RoleTool}}, false, true, "2"},
		{"10.5-3 summarised away", "/a", []thread.Digest{{Role: thread.RoleHuman, Name: thread.NameSummary}}, false, true, ""},
		{"no file is changed", "", []thread.Digest{read("/a", "1")}, false, false, ""},
		{"10.5-6 switched off", "/a", []thread.Digest{read("/a", "1")}, true, false, ""},
	} {
		run := runOf(agent.Summary{ReadBeforeWrite: !tc.off})
		run.Messages = tc.messages
		call := callOf("write_file")
		call.Target = tc.target
		reply, rules := around(t, &ReadBeforeWrite{}, run, call)
		require.Nil(t, reply, tc.name)
		require.Equal(t, tc.check, rules.CheckRead, tc.name)
		require.Equal(t, tc.seen, rules.Seen, tc.name)
	}
}
