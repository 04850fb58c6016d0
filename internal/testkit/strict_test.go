package testkit

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// malformed breaks V13.
const malformed = `{"model":"m","messages":[{"role":"user","content":""}]}`

func TestStrictModeRefusesAndFailsTheTest(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	m := NewModel(s)
	m.Enqueue(Text("not used"))
	res := post(testContext(t), t, m, malformed)
	require.Equal(t, http.StatusBadRequest, res.StatusCode)
	var answer struct {
		Error struct{ Message, Type, Param, Code string }
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, res)), &answer))
	require.Equal(t, "V13: messages[0].content: a user message needs content", answer.Error.Message)
	require.Equal(t, "messages[0].content", answer.Error.Param)
	require.Equal(t, "invalid_request_error", answer.Error.Type)
	require.Contains(t, s.text(), "V13: messages[0].content")
	require.Contains(t, s.text(), malformed)
	require.Equal(t, 1, m.Remaining(), "a refused request uses no reply up")
	require.Equal(t, V13, m.Requests()[0].Violations[0].Rule)
	require.Equal(t, m.Requests()[0].Violations, m.Violations())
}

func TestExpectedViolationsDoNotFailTheTest(t *testing.T) {
	t.Parallel()
	orphan := body(userMsg, resultA)

	s := newSpy(t)
	m := NewModel(s)
	m.ExpectViolations(V13)
	require.Equal(t, http.StatusBadRequest, post(testContext(t), t, m, malformed).StatusCode)
	require.Empty(t, s.text())
	post(testContext(t), t, m, orphan)
	require.Contains(t, s.text(), "V2")
	require.Len(t, m.Violations(), 2)

	s = newSpy(t)
	m = NewModel(s)
	m.ExpectViolations()
	post(testContext(t), t, m, malformed)
	post(testContext(t), t, m, orphan)
	require.Empty(t, s.text())
}

func TestRulesCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]ModelOption{"one": WithoutRules(V13), "all": WithoutRules()} {
		m := NewModel(t, option)
		m.Enqueue(Text("x"))
		require.Equal(t, http.StatusOK, post(testContext(t), t, m, malformed).StatusCode, name)
	}
}

func TestV10SpeaksAsTheProviderDoes(t *testing.T) {
	t.Parallel()
	m := NewModel(t, WithWindow(100))
	m.ExpectViolations(V10)
	res := post(testContext(t), t, m, asking(strings.Repeat("x", 500)))
	require.Equal(t, http.StatusBadRequest, res.StatusCode)
	text := read(t, res)
	require.Contains(t, text, `"code":"context_length_exceeded"`)
	require.Contains(t, text, "maximum context length is 100 tokens")
}

func TestV9ComparesWithWhatTheServerSent(t *testing.T) {
	t.Parallel()
	m := NewModel(t, WithThinking())
	m.ExpectViolations(V9)
	m.Enqueue(ToolCalls(Call{ID: "a", Name: "ls"}).With(WithReasoning("deep thought")))
	read(t, post(testContext(t), t, m, body(userMsg)))
	status := func(reasoning string) int {
		return post(testContext(t), t, m, body(userMsg, callsWith(reasoning, "a"), resultA)).StatusCode
	}
	require.Equal(t, http.StatusBadRequest, status(``))
	require.Equal(t, http.StatusBadRequest, status(`"reasoning_content":" ",`))
	m.Enqueue(Text("x"), Text("y"))
	require.Equal(t, http.StatusOK, status(`"reasoning_content":"deep thought",`))
	m.Gave("a", "told by hand")
	require.Equal(t, http.StatusOK, status(`"reasoning_content":"told by hand",`))
}
