package agent

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"
)

//go:embed prompt.md.tmpl
var promptText string

// PromptInput is what the static prompt depends on. It has no date, no user data
// and nothing else that changes within a thread, so a provider can cache the
// prefix.
type PromptInput struct {
	AgentName     string // "DeerFlow" when empty
	Clarification bool   // the run may ask its user
	Bash          bool   // a shell is among the tools
	MaxTurns      int
}

// Prompt writes the system prompt of an agent.
func Prompt(in PromptInput) (string, error) {
	if in.AgentName == "" {
		in.AgentName = "DeerFlow"
	}
	t, err := template.New("prompt").Parse(promptText)
	if err != nil {
		return "", fmt.Errorf("parse the prompt template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, in); err != nil {
		return "", fmt.Errorf("write the prompt of agent %q: %w", in.AgentName, err)
	}
	return b.String(), nil
}
