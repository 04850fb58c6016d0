package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCodeOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, ExitDone, CodeOf(nil, ExitFailed))
	require.Equal(t, ExitUsage, CodeOf(errors.New("x"), ExitUsage))
	err := fmt.Errorf("deep: %w", Exitf(ExitAuth, "no: %w", errors.ErrUnsupported))
	require.Equal(t, ExitAuth, CodeOf(err, ExitFailed))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.Equal(t, "exit code 4", (&ExitError{Code: ExitWaiting}).Error())
}

func TestFormat(t *testing.T) {
	t.Parallel()
	var f Format
	require.NoError(t, f.Set("jsonl"))
	var w strings.Builder
	require.NoError(t, f.WriteJSON(&w, map[string]string{"a": "<b> & c"}))
	require.Equal(t, []string{`{"a":"<b> & c"}`, ""}, strings.Split(w.String(), "\n"))
	require.NoError(t, f.Set("json"))
	w.Reset()
	require.NoError(t, f.WriteJSON(&w, map[string]int{"a": 1}))
	require.Equal(t, "{\n  \"a\": 1\n}\n", w.String())
	require.EqualError(t, f.Set("yaml"), `output format is "yaml"; use text, json or jsonl`)
	require.Error(t, f.WriteJSON(&w, func() {}))
}
