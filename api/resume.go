package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// answers are what a run says to the questions of its thread.
type answers struct {
	messages []thread.Message // made for the run; nil when it brought its own
	ids      []string         // of the interrupts that are answered
}

// answersOf finds which questions a run answers. A plain message names none:
// the thread takes it as the answer to all that are open.
func answersOf(t *store.Thread, r *runRequest) (answers, error) {
	if r.resume != nil {
		return resumeAnswers(t, r.resume)
	}
	var a answers
	for i := range r.messages {
		id := respondsTo(&r.messages[i])
		if id == "" || slices.Contains(a.ids, id) {
			continue
		}
		if findInterrupt(t.Interrupts, id) != nil {
			a.ids = append(a.ids, id)
		} else if len(t.Interrupts) > 0 {
			return a, fail(http.StatusConflict, "The question %s is not open any more; thread %s waits with %s",
				thread.Prefix(id, 120), t.ID, interruptIDs(t.Interrupts))
		}
	}
	return a, nil
}

// respondsTo is the id of the question that a message answers, "" for none.
func respondsTo(m *thread.Message) string {
	response, _ := m.AdditionalKwargs[thread.KeyHumanInputResponse].(map[string]any)
	id, _ := response["request_id"].(string)
	return id
}

func findInterrupt(open []thread.Interrupt, id string) *thread.Interrupt {
	for i := range open {
		if open[i].ID == id {
			return &open[i]
		}
	}
	return nil
}

func interruptIDs(open []thread.Interrupt) string {
	ids := make([]string, len(open))
	for i := range open {
		ids[i] = open[i].ID
	}
	return strings.Join(ids, ", ")
}

// resumeAnswers turns the value of command.resume into messages. A map from ids
// of interrupts answers those; anything else answers the one that is open.
func resumeAnswers(t *store.Thread, resume json.RawMessage) (answers, error) {
	open := t.Interrupts
	if len(open) == 0 {
		return answers{}, fail(http.StatusConflict, "Thread %s is not waiting for an answer", t.ID)
	}
	byID, err := resumeMap(open, resume)
	if err != nil {
		return answers{}, err
	}
	if len(byID) == 0 {
		if len(open) > 1 {
			return answers{}, invalidField("value_error",
				"Thread waits with several questions: send an object from their ids to the answers ("+interruptIDs(open)+")",
				"body", "command", "resume")
		}
		byID = map[string]json.RawMessage{open[0].ID: resume}
	}
	var a answers
	for i := range open {
		value, answered := byID[open[i].ID]
		if !answered {
			continue
		}
		m, err := answerMessage(&open[i], value)
		if err != nil {
			return answers{}, err
		}
		a.messages = append(a.messages, m)
		a.ids = append(a.ids, open[i].ID)
	}
	return a, nil
}

// resumeMap reads a map from ids of open interrupts; it is empty when the value
// is none: then the value is an answer by itself.
func resumeMap(open []thread.Interrupt, resume json.RawMessage) (map[string]json.RawMessage, error) {
	byID := map[string]json.RawMessage{}
	if resume[0] == '{' {
		if err := json.Unmarshal(resume, &byID); err != nil {
			return nil, invalidField("json_invalid", err.Error(), "body", "command", "resume")
		}
	}
	var unknown []string
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if findInterrupt(open, id) == nil {
			unknown = append(unknown, thread.Prefix(id, 120))
		}
	}
	if len(unknown) == len(byID) {
		return nil, nil
	}
	if len(unknown) > 0 {
		return nil, invalidField("unknown_interrupt", "No open question has the id "+strings.Join(unknown, ", "),
			"body", "command", "resume")
	}
	return byID, nil
}

// answerMessage is the hidden message that carries an answer, in the words that
// DeerFlow's page uses (spec 8.3).
func answerMessage(question *thread.Interrupt, value json.RawMessage) (thread.Message, error) {
	response := map[string]any{
		"version": 1, "kind": thread.KeyHumanInputResponse, "source": question.Value.Source,
		"request_id": question.ID, "response_kind": "text",
	}
	text := answerText(value)
	if text == "" {
		return thread.Message{}, invalidField("value_error", "The answer is empty", "body", "command", "resume")
	}
	if option := chosenOption(question.Value.Options, text); option != nil {
		response["response_kind"], response["option_id"] = "option", option.ID
		text = option.Value
	}
	response["value"] = text
	m := thread.Human(uuid.NewString(), `For your clarification "`+question.Value.Question+`", my answer is: `+text)
	m.SetKwarg(thread.KeyHidden, true)
	m.SetKwarg(thread.KeyHumanInputResponse, response)
	return m, nil
}

// answerText is what a person would read: a text as it is, the value of an
// object that has one, other JSON as JSON.
func answerText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text)
	}
	var object struct {
		Value *string `json:"value"`
	}
	if json.Unmarshal(value, &object) == nil && object.Value != nil {
		return strings.TrimSpace(*object.Value)
	}
	return strings.TrimSpace(string(value))
}

// chosenOption finds the option that an answer means by id, value or label.
func chosenOption(options []thread.Option, text string) *thread.Option {
	for i := range options {
		if o := &options[i]; text == o.ID || text == o.Value || text == o.Label {
			return o
		}
	}
	return nil
}
