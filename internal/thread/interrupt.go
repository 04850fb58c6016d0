package thread

// Interrupt is a question that a thread waits with. Its JSON is LangGraph's
// {id, value}: Value is the card that the page shows.
type Interrupt struct {
	ID    string `json:"id"` // the id of the tool message that holds the question
	Value Card   `json:"value"`
}

// InputMode is the kind of answer that a card asks for.
type InputMode string

// The kinds of answers.
const (
	InputFreeText InputMode = "free_text"
	InputChoice   InputMode = "choice_with_other"
	InputForm     InputMode = "form"
)

// Card is the human_input_request that DeerFlow's page renders: version 1, or 2
// for forms.
type Card struct {
	Version           int       `json:"version"`
	Kind              string    `json:"kind"`   // "human_input_request"
	Source            string    `json:"source"` // "ask_clarification"
	RequestID         string    `json:"request_id"`
	ToolCallID        string    `json:"tool_call_id"`
	ClarificationType string    `json:"clarification_type"`
	Question          string    `json:"question"`
	Context           string    `json:"context,omitempty"`
	InputMode         InputMode `json:"input_mode"`
	Options           []Option  `json:"options,omitempty"`
	Fields            []Field   `json:"fields,omitempty"`
}

// Option is one choice of a card.
type Option struct {
	ID    string `json:"id"` // "option-1", ...
	Label string `json:"label"`
	Value string `json:"value"`
}

// Field is one line of a form.
type Field struct {
	Name        string   `json:"name"`
	Label       string   `json:"label"`
	Type        string   `json:"type"`
	Required    bool     `json:"required"`
	Placeholder string   `json:"placeholder,omitempty"`
	Options     []Option `json:"options,omitempty"`
}

// Answer is what a person said to an interrupt. An empty ID answers the oldest
// open question.
type Answer struct {
	ID   string `json:"id,omitempty"`
	Text string `json:"text"`
}

// AnswerMessage is the hidden human message that carries an answer: the page
// flips the card to "answered" by it. An answer that is the label of an option
// stands for the option's value. A nil question answers whatever is open.
func AnswerMessage(id string, q *Interrupt, text string) Message {
	m := Human(id, text)
	m.SetKwarg(KeyHidden, true)
	if q == nil {
		return m
	}
	response := map[string]any{
		"version": 1, "kind": "human_input_response", "source": q.Value.Source,
		"request_id": q.ID, "response_kind": "text",
	}
	if o, ok := q.Value.option(text); ok {
		text = o.Value
		response["response_kind"], response["option_id"] = "option", o.ID
	}
	response["value"] = text
	m.Content = Text(`For your clarification "` + q.Value.Question + `", my answer is: ` + text)
	m.SetKwarg(KeyHumanInputResponse, response)
	return m
}

// option finds the choice that a text names: by its value, else by its label.
func (c *Card) option(text string) (Option, bool) {
	for _, o := range c.Options {
		if o.Value == text {
			return o, true
		}
	}
	for _, o := range c.Options {
		if o.Label == text && o.Value != "" {
			return o, true
		}
	}
	return Option{}, false
}
