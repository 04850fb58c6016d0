package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// N07: a command says what is wrong before anything is started.
func TestN07ConfigCheck(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env["SECRET_OF_TEST"] = "hidden-value"
	good := configFile(t, "models: [{name: d, use: demo, api_key: $SECRET_OF_TEST}]\nmemory:\nlogging: {}\n")
	require.Equal(t, 0, s.do("config", "check", good))
	require.Equal(t, "warning: "+good+":2: sections without keys, their defaults are used: memory (line 2)\n"+
		"warning: "+good+":3: sections that this version does not use yet are ignored: logging (line 3)\nok: "+good+"\n", s.out.String())
	require.Empty(t, s.errOut.String())

	bad := configFile(t, "title: {max_word: 3}\nthread:\n  max_turns: $NOT_SET_ANYWHERE\nmemory:\n")
	require.Equal(t, 2, s.do("config", "check", bad))
	require.Equal(t, "error: "+bad+":1: title: unknown key max_word; did you mean max_words?\n"+
		"error: "+bad+":3: thread.max_turns: the environment variable NOT_SET_ANYWHERE is not set; set it, put it into .env beside the config, "+
		"or write ${NOT_SET_ANYWHERE:-default}\n"+
		"warning: "+bad+":4: sections without keys, their defaults are used: memory (line 4)\n", s.out.String())
	require.Empty(t, s.errOut.String(), "it has been said")

	require.Equal(t, 2, s.do("config", "check", "-o", "json", "--config", bad))
	var report checkReport
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &report))
	require.False(t, report.Valid)
	require.Equal(t, finding{File: bad, Line: 1, Message: "title: unknown key max_word; did you mean max_words?"}, report.Errors[0])
	require.Len(t, report.Warnings, 1)

	require.Equal(t, 2, s.do("config", "check", filepath.Join(t.TempDir(), "none.yaml")))
	require.Contains(t, s.out.String(), "no such config file")
	require.Equal(t, 2, s.do("config", "check", good, bad))
	require.Equal(t, 2, s.do("config", "chekc"))
}

func TestConfigShow(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env["SECRET_OF_TEST"] = "hidden-value"
	s.env["DEERFLOW_CONFIG"] = configFile(t, "models: [{name: d, use: demo, api_key: $SECRET_OF_TEST}]\nthread: {max_turns: 5}\n")
	require.Equal(t, 0, s.do("config", "show"), s.errOut.String())
	require.Contains(t, s.out.String(), "max_turns: 5 # line 2\n")
	require.Contains(t, s.out.String(), "api_key: '[redacted]' # line 1, from $SECRET_OF_TEST\n")
	require.NotContains(t, s.out.String(), "hidden-value")

	require.Equal(t, 0, s.do("config", "show", "-o", "json"))
	var values map[string]map[string]any
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &map[string]any{}))
	_ = json.Unmarshal(s.out.Bytes(), &values) // the lists do not fit, the sections do
	require.EqualValues(t, 5, values["thread"]["max_turns"])
	require.NotContains(t, s.out.String(), "hidden-value")

	require.Equal(t, 2, s.do("config", "show", "--config", configFile(t, "title: 3\n")))
	require.Empty(t, s.out.String())
	require.Contains(t, s.errOut.String(), "config.yaml:1: title: want keys and values")
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	require.Equal(t, 0, s.do("config", "schema"))
	var schema struct{ Properties map[string]any }
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &schema))
	require.Contains(t, schema.Properties, "summarization")
}
