package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgramName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "deerflow", ProgramName(""))
	require.Equal(t, "bin/deerflow", ProgramName("bin/deerflow"))
}

func TestQuotedIsOneWordOfAShell(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"": "''", "bin/deerflow": "bin/deerflow", "my data": "'my data'", "~x": "'~x'", "it's": `'it'\''s'`,
	} {
		require.Equal(t, want, Quoted(word))
	}
}
