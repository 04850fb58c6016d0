package thread

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func question() *Interrupt {
	return &Interrupt{ID: "clarification:c1", Value: Card{
		Version: 1, Kind: "human_input_request", Source: "ask_clarification", RequestID: "clarification:c1", ToolCallID: "c1",
		ClarificationType: "approach_choice", Question: "Which colour?", InputMode: InputChoice,
		Options: []Option{{ID: "option-1", Label: "Blue", Value: "blue"}, {ID: "option-2", Label: "blue", Value: "navy"}},
	}}
}

func TestAnswerMessageFlipsTheCard(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text, value, option string
	}{
		{name: "free text", text: "something else", value: "something else"},
		{name: "a value", text: "navy", value: "navy", option: "option-2"},
		{name: "a label", text: "Blue", value: "blue", option: "option-1"},
		{name: "a value goes before a label", text: "blue", value: "blue", option: "option-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := AnswerMessage("r2-answer", question(), tc.text)
			require.Equal(t, "r2-answer", m.ID)
			require.Equal(t, RoleHuman, m.Role)
			require.True(t, m.Hidden())
			require.Equal(t, `For your clarification "Which colour?", my answer is: `+tc.value, m.Content.String())
			want := map[string]any{
				"version": 1, "kind": "human_input_response", "source": "ask_clarification",
				"request_id": "clarification:c1", "response_kind": "text", "value": tc.value,
			}
			if tc.option != "" {
				want["response_kind"], want["option_id"] = "option", tc.option
			}
			require.Equal(t, want, m.AdditionalKwargs[KeyHumanInputResponse])
		})
	}
}

func TestAnAnswerToWhateverIsOpen(t *testing.T) {
	t.Parallel()
	m := AnswerMessage("r2-answer", nil, "go on")
	require.Equal(t, "go on", m.Content.String())
	require.True(t, m.Hidden())
	require.NotContains(t, m.AdditionalKwargs, KeyHumanInputResponse)
}

func TestInterruptJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(question())
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"clarification:c1","value":{"version":1,"kind":"human_input_request","source":"ask_clarification",`+
		`"request_id":"clarification:c1","tool_call_id":"c1","clarification_type":"approach_choice","question":"Which colour?",`+
		`"input_mode":"choice_with_other","options":[{"id":"option-1","label":"Blue","value":"blue"},{"id":"option-2","label":"blue","value":"navy"}]}}`, string(got))

	form := Interrupt{ID: "q", Value: Card{Version: 2, InputMode: InputForm, Fields: []Field{{Name: "city", Label: "City", Type: "text", Required: true}}}}
	got, err = json.Marshal(form.Value.Fields)
	require.NoError(t, err)
	require.JSONEq(t, `[{"name":"city","label":"City","type":"text","required":true}]`, string(got))
}

func TestRunStatusThatWillNotChange(t *testing.T) {
	t.Parallel()
	for status, terminal := range map[RunStatus]bool{
		RunPending: false, RunRunning: false, RunSuccess: true, RunError: true, RunTimeout: true, RunInterrupted: true,
	} {
		require.Equal(t, terminal, status.Terminal(), status)
	}
}
