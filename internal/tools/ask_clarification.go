package tools

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

//go:embed ask_clarification.md
var askClarificationText string

// maxQuestion bounds the question and its context, in characters: the card is
// carried by the workflow while it waits.
const maxQuestion = 4000

// maxCard bounds the whole card, in bytes of JSON.
const maxCard = 16 << 10

type askClarificationParams struct {
	Question string          `json:"question" jsonschema:"The question, in the user's language."`
	Type     json.RawMessage `json:"clarification_type" jsonschema:"Why you ask."`
	Context  json.RawMessage `json:"context,omitempty" jsonschema:"Why the answer matters, in one or two sentences."`
	Options  json.RawMessage `json:"options,omitempty" jsonschema:"Choices to offer."`
	Fields   json.RawMessage `json:"fields,omitempty" jsonschema:"The fields of a form, at most 16."`
}

// clarificationIcon begins the text of a question of a type; any other type has
// that of missing information.
func clarificationIcon(kind string) string {
	switch kind {
	case "ambiguous_requirement":
		return "🤔"
	case "approach_choice":
		return "🔀"
	case "risk_confirmation":
		return "⚠️"
	case "suggestion":
		return "💡"
	}
	return "❓"
}

// askClarification makes the tool that asks. Everything but the question is
// taken as it comes and put right, since a question that is refused for its form
// costs a turn.
func askClarification() (Tool, error) {
	return definition[askClarificationParams]{
		name: "ask_clarification", description: askClarificationText, class: agent.ClassRead,
		loose: []string{"clarification_type", "context", "options", "fields"},
		adjust: func(s *jsonschema.Schema) {
			describe := func(name string, as *jsonschema.Schema) {
				as.Description = s.Properties[name].Description
				s.Properties[name] = as
			}
			describe("clarification_type", &jsonschema.Schema{Type: "string", Enum: []any{
				"missing_info", "ambiguous_requirement", "approach_choice", "risk_confirmation", "suggestion",
			}})
			describe("context", &jsonschema.Schema{Type: "string"})
			describe("options", &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}})
			describe("fields", &jsonschema.Schema{Type: "array", Items: fieldSchema()})
		},
		run: runAskClarification,
	}.build()
}

func fieldSchema() *jsonschema.Schema {
	types := make([]any, 0, len(fieldTypes))
	for _, t := range fieldTypes {
		types = append(types, t)
	}
	return &jsonschema.Schema{
		Type: "object", Required: []string{"name", "label", "type"},
		PropertyOrder: []string{"name", "label", "type", "required", "options", "placeholder"},
		Properties: map[string]*jsonschema.Schema{
			"name":        {Type: "string", Description: "A short identifier."},
			"label":       {Type: "string", Description: "What the user sees."},
			"type":        {Type: "string", Enum: types},
			"required":    {Type: "boolean"},
			"options":     {Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: "For select and multi_select."},
			"placeholder": {Type: "string"},
		},
	}
}

// runAskClarification makes the card and the text. It does not wait: who called
// it does.
func runAskClarification(_ context.Context, c Call, p askClarificationParams) (Result, error) {
	question := thread.FirstRunes(strings.TrimSpace(p.Question), maxQuestion)
	if question == "" {
		return failure("Invalid arguments for ask_clarification: argument \"question\" must not be empty"), nil
	}
	if c.Env.NoClarification {
		return text("Clarification is disabled in this run: nobody can answer. Proceed with your best judgement and say which assumptions you made."), nil
	}
	card := thread.Card{
		Version: 1, Kind: "human_input_request", Source: "ask_clarification", ToolCallID: c.Env.CallID,
		ClarificationType: plainText(p.Type), Question: question,
		Context: thread.FirstRunes(plainText(p.Context), maxQuestion), InputMode: thread.InputFreeText,
	}
	if !isClarificationType(card.ClarificationType) {
		card.ClarificationType = "missing_info"
	}
	if fields := normalizeFields(p.Fields); fields != nil {
		card.Version, card.InputMode, card.Fields = 2, thread.InputForm, fields
	} else if options := normalizeOptions(p.Options); len(options) > 0 {
		card.InputMode, card.Options = thread.InputChoice, options
	}
	if data, _ := json.Marshal(card); len(data) > maxCard { // the artifact below says what cannot be encoded
		return failure("The question with its context and its choices has %d bytes, at most %d can be shown. Ask in fewer words, and put details into a file.", len(data), maxCard), nil
	}
	r := text(cardText(card))
	card.RequestID = thread.ClarificationID(c.Env.CallID)
	if c.Env.CallID == "" {
		sum := sha256.Sum256([]byte(r.Text))
		card.RequestID = thread.ClarificationID(hex.EncodeToString(sum[:8]))
	}
	artifact, err := json.Marshal(map[string]thread.Card{"human_input": card})
	if err != nil {
		return failure("The question cannot be shown: %v", err), nil
	}
	r.Artifact = artifact
	r.Interrupt = &thread.Interrupt{ID: card.RequestID, Value: card}
	return r, nil
}

func isClarificationType(kind string) bool {
	return kind == "missing_info" || clarificationIcon(kind) != clarificationIcon("")
}

// cardText is the question for channels that show no card.
func cardText(card thread.Card) string {
	var b strings.Builder
	icon := clarificationIcon(card.ClarificationType)
	if card.Context != "" {
		fmt.Fprintf(&b, "%s %s\n\n%s", icon, card.Context, card.Question)
	} else {
		fmt.Fprintf(&b, "%s %s", icon, card.Question)
	}
	if len(card.Options) > 0 {
		b.WriteString("\n")
	}
	for i, o := range card.Options {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, o.Label)
	}
	if len(card.Fields) == 0 {
		return b.String()
	}
	b.WriteString("\n")
	for i, f := range card.Fields {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, f.Label)
		if f.Required {
			b.WriteString(" (required)")
		}
		labels := make([]string, len(f.Options))
		for i, o := range f.Options {
			labels[i] = o.Label
		}
		if len(labels) > 0 {
			b.WriteString(" — options: " + strings.Join(labels, " / "))
		}
		if f.Type == "multi_select" {
			b.WriteString(" (multiple allowed)")
		}
	}
	b.WriteString("\n\nPlease give a value for each field.")
	return b.String()
}
