package testkit

import (
	"fmt"
	"slices"
)

// Rule names one thing that real providers reject in a chat request.
type Rule string

// The rules of the strict mode. RuleShape stands for a body that is no chat
// request at all; every other rule is enforced by some real provider.
const (
	RuleShape Rule = "shape" // not a JSON object with a list of messages of known roles

	V1  Rule = "V1"  // tool_calls not followed at once by one tool message per id
	V2  Rule = "V2"  // a tool message whose id was not asked for, or a second one for an id
	V3  Rule = "V3"  // a missing, empty or duplicate tool_calls[].id in one message
	V4  Rule = "V4"  // a tool name that is empty, too long, of other characters, or declared twice
	V5  Rule = "V5"  // function.arguments that are not the text of a JSON object
	V6  Rule = "V6"  // more than one system message, or one that is not first
	V7  Rule = "V7"  // an assistant message with no visible content and no tool calls
	V8  Rule = "V8"  // a tool message without content
	V9  Rule = "V9"  // thinking on: tool calls without the reasoning_content they came with
	V10 Rule = "V10" // prompt and max_tokens over the context window
	V11 Rule = "V11" // a tool schema whose root is not an object with properties
	V12 Rule = "V12" // a history with tool calls while the request declares no tools
	V13 Rule = "V13" // a user message with empty content
)

// Rules says what [Validate] checks. The zero value checks all rules but V9
// and V10, which depend on the model.
type Rules struct {
	// Thinking turns V9 on.
	Thinking bool
	// Reasoning returns the reasoning texts that were sent with a tool call
	// id, as far as they are known. A message with such a call must bring one
	// of them back word for word; with none known, any non-empty text will do.
	// May be nil.
	Reasoning func(toolCallID string) []string
	// Window is the size of the model's context in tokens; above 0 it turns
	// V10 on, measured with [EstimateTokens].
	Window int
	// Off lists rules that are not checked.
	Off []Rule
}

// Violation is one broken rule.
type Violation struct {
	Rule    Rule
	Path    string // where in the body, e.g. "messages[3].tool_calls[0].id"
	Message string // what is wrong there
}

// String returns the violation as one line.
func (v Violation) String() string {
	if v.Path == "" {
		return fmt.Sprintf("%s: %s", v.Rule, v.Message)
	}
	return fmt.Sprintf("%s: %s: %s", v.Rule, v.Path, v.Message)
}

// Validate returns every rule that the body of a chat completions request
// breaks, or nil: in the order of the rules' numbers (V1 and V2 together), and
// of the messages within a rule. It is pure.
func Validate(body []byte, rules Rules) []Violation {
	c, err := parseChat(body)
	if err != nil {
		return drop([]Violation{{Rule: RuleShape, Message: err.Error()}}, rules.Off)
	}
	checks := []func(*chat, Rules) []Violation{
		checkShape,
		checkToolResults, // V1, V2
		checkCallIDs,     // V3
		checkToolNames,   // V4
		checkArguments,   // V5
		checkSystem,      // V6
		checkAssistant,   // V7
		checkToolContent, // V8
		checkReasoning,   // V9
		checkWindow,      // V10
		checkSchemas,     // V11
		checkToolsAbsent, // V12
		checkUser,        // V13
	}
	var found []Violation
	for _, check := range checks {
		found = append(found, check(c, rules)...)
	}
	return drop(found, rules.Off)
}

func drop(found []Violation, off []Rule) []Violation {
	return slices.DeleteFunc(found, func(v Violation) bool {
		return slices.Contains(off, v.Rule)
	})
}

// checkShape finds what would make the other rules meaningless.
func checkShape(c *chat, _ Rules) []Violation {
	if len(c.messages) == 0 {
		return []Violation{{RuleShape, "messages", "the list is empty"}}
	}
	var found []Violation
	for i, m := range c.messages {
		switch m.Role {
		case "system", "developer", "user", "assistant", "tool":
		default:
			found = append(found, Violation{RuleShape, messagePath(i) + ".role", fmt.Sprintf("unknown role %q", m.Role)})
		}
		if raw := m.Fields["tool_calls"]; !isNull(raw) {
			if _, err := parseObjects(raw); err != nil {
				found = append(found, Violation{RuleShape, messagePath(i) + ".tool_calls", err.Error()})
			}
		}
	}
	return found
}

func messagePath(i int) string {
	return fmt.Sprintf("messages[%d]", i)
}

func callPath(i, j int) string {
	return fmt.Sprintf("messages[%d].tool_calls[%d]", i, j)
}
