package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"deerflow/internal/thread"
)

// maxKeptArgs is how much of arguments that cannot be used is kept and shown.
const maxKeptArgs = 500

// parseArguments turns the text of a call's arguments into a JSON object.
// Nothing at all is an empty object (A13), an object that was encoded twice is
// unwrapped once (A14); everything else is an error that says why in one
// sentence.
func parseArguments(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "null" || text == `""` {
		return json.RawMessage("{}"), nil
	}
	if isObject([]byte(text)) {
		return json.RawMessage(text), nil
	}
	if inner, ok := unquote([]byte(text)); ok {
		var j joiner
		once := strings.TrimSpace(j.push(inner))
		if isObject([]byte(once)) {
			return json.RawMessage(once), nil
		}
	}
	return nil, explainArguments(text)
}

func explainArguments(text string) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	var value any
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("the arguments are not valid JSON (%d bytes received): %w", len(text), plainSyntax(err))
	}
	if decoder.More() || decoder.InputOffset() < int64(len(text)) {
		return fmt.Errorf("the arguments must be one JSON object, but more text follows after byte %d", decoder.InputOffset())
	}
	return fmt.Errorf("the arguments must be a JSON object, not %s", kind(value))
}

// plainSyntax words the commonest decoding error so that a model understands it.
func plainSyntax(err error) error {
	if strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "unexpected end") {
		return errors.New("the text ends in the middle")
	}
	return err
}

func kind(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case string:
		return "a text"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	}
	return "null"
}

// isObject reports whether text is one JSON object and nothing else.
func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

// invalidCall makes the record of a call that cannot be run.
func invalidCall(id, name, args, reason string) thread.InvalidToolCall {
	if len(args) > maxKeptArgs {
		args = thread.Prefix(args, maxKeptArgs) + "..."
	}
	return thread.InvalidToolCall{
		Name: name, Args: args, ID: id, Type: "invalid_tool_call",
		Error: thread.Prefix(reason, maxKeptArgs),
	}
}
