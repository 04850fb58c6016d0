package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDotenvBesideTheConfig(t *testing.T) {
	t.Parallel()
	dir := write(t,
		"config.yaml", "models:\n- {name: $A, use: demo, display_name: $B, description: $C}\n",
		".env", "\ufeff# comment\nexport A=file-a\nB='file $b'\nC=\"two\\nlines\" # why\n")
	c, _, err := Load(Options{Path: filepath.Join(dir, "config.yaml"), Dir: t.TempDir(), Getenv: env("A", "real-a")})
	require.NoError(t, err)
	m := c.Models[0]
	require.Equal(t, "real-a", m.Name, "the real environment wins")
	require.Equal(t, "file $b", m.DisplayName)
	require.Equal(t, "two\nlines", m.Description)
	_, leaked := os.LookupEnv("B")
	require.False(t, leaked, "the process environment is left alone")
}

func TestDotenvSetButEmptyIsSet(t *testing.T) {
	t.Parallel()
	dir := write(t, "config.yaml", "models: [{name: a, use: demo, description: $A}]", ".env", "A=file")
	c, _, err := Load(Options{Dir: dir, Getenv: env("A", "")})
	require.NoError(t, err)
	require.Empty(t, c.Models[0].Description)
}

func TestDotenvErrorsNameTheLineAndShowNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		line string
	}{
		"no equals sign":      {"A=1\nsecret words\nB=2\n", ":2: "},
		"no equals, last":     {"A=1\nsecret", ":2: "},
		"bad name":            {"A=1\n\n# c\nsecret-x=1\n", ":4: "},
		"open quote":          {"A=1\nB=\"secret\nC=2\n", ":2: "},
		"open quote, closed":  {"A=1\nB=\"secret\nC=\"x\"\n", ":2: "},
		"after several lines": {"A=\"1\n2\n3\"\n secret{}\n", ":4: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, "config.yaml", demoModels, ".env", tt.text)
			_, _, err := Load(Options{Dir: dir, Getenv: env()})
			require.ErrorContains(t, err, filepath.Join(dir, ".env")+tt.line)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestDotenvThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := write(t, "config.yaml", demoModels)
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".env"), 0o700))
	_, _, err := Load(Options{Dir: dir, Getenv: env()})
	require.ErrorContains(t, err, "cannot read the variables beside the config")
}
