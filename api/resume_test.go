package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// waiting is a thread that waits with questions.
func waiting(t *testing.T, e *env, id string, questions ...thread.Interrupt) *player {
	t.Helper()
	p := e.play(t, id)
	p.start(e.say(t, id, "hm"))
	p.ask(questions...)
	return p
}

func TestResume(t *testing.T) {
	t.Parallel()
	one, two := question("call_1"), question("call_2")
	for _, s := range []struct {
		name      string
		questions []thread.Interrupt
		resume    string
		answers   []string
		texts     []string
		kinds     []string
	}{
		{"free text", []thread.Interrupt{one}, `"in 1999"`, []string{one.ID}, []string{`For your clarification "Which year?", my answer is: in 1999`}, []string{"text"}},
		{"value of an option", []thread.Interrupt{one}, `"2025"`, []string{one.ID}, []string{`For your clarification "Which year?", my answer is: 2025`}, []string{"option"}},
		{"label of an option", []thread.Interrupt{one}, `"This year"`, []string{one.ID}, []string{`For your clarification "Which year?", my answer is: 2026`}, []string{"option"}},
		{"a response object", []thread.Interrupt{one}, `{"response_kind":"text","value":"later"}`, []string{one.ID}, []string{`For your clarification "Which year?", my answer is: later`}, []string{"text"}},
		{"a number", []thread.Interrupt{one}, `2027`, []string{one.ID}, []string{`For your clarification "Which year?", my answer is: 2027`}, []string{"text"}},
		{"any object", []thread.Interrupt{one}, `{"from":1,"to":2}`, []string{one.ID}, []string{`For your clarification "Which year?", my answer is: {"from":1,"to":2}`}, []string{"text"}},
		{"a map to one", []thread.Interrupt{one}, `{"` + one.ID + `":"x"}`, []string{one.ID}, []string{`For your clarification "Which year?", my answer is: x`}, []string{"text"}},
		{
			"a map to both",
			[]thread.Interrupt{one, two},
			`{"` + two.ID + `":"b","` + one.ID + `":"a"}`,
			[]string{one.ID, two.ID},
			[]string{`For your clarification "Which year?", my answer is: a`, `For your clarification "Which year?", my answer is: b`},
			[]string{"text", "text"},
		},
		{"a map to one of two", []thread.Interrupt{one, two}, `{"` + two.ID + `":"b"}`, []string{two.ID}, []string{`For your clarification "Which year?", my answer is: b`}, []string{"text"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			waiting(t, e, "t", s.questions...)
			e.check(t, scenario{method: "POST", path: runsPath, body: `{"input":null,"command":{"resume":` + s.resume + `}}`, status: 200})
			submitted := e.threads.submissions()[1]
			require.Equal(t, s.answers, submitted.Answers)
			require.Equal(t, len(s.texts), submitted.Messages)
			view, err := e.store.View(e.ctx, "t", viewNow())
			require.NoError(t, err)
			rows := view.Rows[len(view.Rows)-len(s.texts):]
			for i := range rows {
				m := rows[i].Message
				require.Equal(t, s.texts[i], m.Content.String())
				require.True(t, m.Hidden())
				response, ok := m.AdditionalKwargs[thread.KeyHumanInputResponse].(map[string]any)
				require.True(t, ok)
				require.Equal(t, s.answers[i], response["request_id"])
				require.Equal(t, s.kinds[i], response["response_kind"])
				require.Equal(t, "human_input_response", response["kind"])
				require.Equal(t, "ask_clarification", response["source"])
				if s.kinds[i] == "option" {
					require.Contains(t, []any{"option-1", "option-2"}, response["option_id"])
				}
			}
		})
	}
}

func TestResumeRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	waiting(t, e, "t", question("call_1"), question("call_2"))
	e.thread(t, "idle")
	before := len(e.threads.submissions())
	for _, s := range []scenario{
		{name: "one answer, two questions", path: runsPath, body: `{"command":{"resume":"x"}}`, status: 422, want: []string{"clarification:call_1, clarification:call_2"}},
		{name: "unknown id", path: runsPath, body: `{"command":{"resume":{"clarification:call_1":"a","clarification:call_9":"b"}}}`, status: 422, want: []string{"clarification:call_9"}, wantNot: []string{"clarification:call_1"}},
		{name: "empty", path: runsPath, body: `{"command":{"resume":{"clarification:call_1":""}}}`, status: 422, want: []string{"empty"}},
		{name: "with messages", path: runsPath, body: `{"input":{"messages":["x"]},"command":{"resume":"x"}}`, status: 422, want: []string{"not with both"}},
		{name: "nothing asked", path: "/threads/idle/runs", body: `{"command":{"resume":"x"}}`, status: 409, want: []string{"not waiting"}},
		{name: "stale card", path: runsPath, body: responding("clarification:old"), status: 409, want: []string{"clarification:old", "not open any more"}},
	} {
		s.method = "POST"
		t.Run(s.name, func(t *testing.T) { e.check(t, s) })
	}
	require.Len(t, e.threads.submissions(), before)
}

// responding is what DeerFlow's page sends when a card is answered.
func responding(request string) string {
	return `{"input":{"messages":[{"type":"human","content":"For your clarification","additional_kwargs":{"hide_from_ui":true,
		"human_input_response":{"version":1,"kind":"human_input_response","source":"ask_clarification","request_id":"` + request + `","response_kind":"text","value":"x"}}}]}}`
}

func TestMessageWithAResponse(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := waiting(t, e, "t", question("call_1"), question("call_2"))
	e.check(t, scenario{method: "POST", path: runsPath, body: responding("clarification:call_2"), status: 200})
	require.Equal(t, []string{"clarification:call_2"}, e.threads.submissions()[1].Answers)

	var run runShape
	_, _, body := e.do(t, "GET", runsPath+"?limit=1", "", nil)
	runs := []runShape{}
	require.NoError(t, json.Unmarshal([]byte(body), &runs))
	run = runs[0]
	p.start(run.RunID, "clarification:call_1", "clarification:call_2")
	p.success()
	e.check(t, scenario{method: "POST", path: runsPath, body: responding("clarification:call_2"), status: 200})
	require.Empty(t, e.threads.submissions()[2].Answers, "nothing is open: it is a message like any other")
}

func TestPlainMessageAnswersByItself(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	waiting(t, e, "t", question("call_1"))
	e.check(t, scenario{method: "POST", path: runsPath, body: hi(""), status: 200})
	require.Empty(t, e.threads.submissions()[1].Answers)
}
