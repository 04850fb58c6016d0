package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"deerflow/internal/thread"
)

// Answer is what a person said to a card.
type Answer struct {
	RequestID string
	OptionID  string // of the option that was chosen; empty: Value is their own text
	// Value is never empty. For a form it has one line a field, "label: value".
	Value string
}

// chosen finds the option that text means: its number, counted from 1, or its label in any case.
func chosen(options []thread.Option, text string) (thread.Option, bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(options) {
		return options[n-1], true
	}
	for _, o := range options {
		if strings.EqualFold(text, o.Label) || strings.EqualFold(text, o.Value) {
			return o, true
		}
	}
	return thread.Option{}, false
}

// AnswerCard makes the answer to a card that is no form. The error says what is wrong with the text.
func AnswerCard(card thread.Card, text string) (Answer, error) {
	text = strings.TrimSpace(text)
	a := Answer{RequestID: card.RequestID, Value: text}
	if text == "" {
		return a, errors.New("an answer is needed")
	}
	if o, ok := chosen(card.Options, text); ok {
		a.OptionID, a.Value = o.ID, o.Value
		return a, nil
	}
	if onlyOptions(card) {
		return a, fmt.Errorf("%q is none of the options: type a number from 1 to %d", text, len(card.Options))
	}
	return a, nil
}

// strayNumber reports whether text looks like the number of an option that a card does not have.
func strayNumber(card thread.Card, text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && len(card.Options) > 0 && (n < 1 || n > len(card.Options))
}

// onlyOptions reports whether a card takes no text beside its options.
func onlyOptions(card thread.Card) bool {
	return card.InputMode == "single_choice" && len(card.Options) > 0
}

// fieldValue checks and normalises what was typed for a field of a form. Empty text leaves an optional field out.
func fieldValue(f thread.Field, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		if f.Required {
			return "", fmt.Errorf("%s is required", f.Label)
		}
		return "", nil
	}
	switch f.Type {
	case "number":
		if !strings.ContainsAny(text[:1], "-0123456789") || !json.Valid([]byte(text)) {
			return "", fmt.Errorf("%q is no number, such as 3 or 1.5", text)
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "", fmt.Errorf("%q is no date, such as 2026-01-31", text)
		}
	case "checkbox":
		return checkboxValue(text)
	case "select":
		return selectValue(f, text)
	case "multi_select":
		return multiSelectValue(f, text)
	}
	return text, nil
}

func checkboxValue(text string) (string, error) {
	switch strings.ToLower(text) {
	case "y", "yes", "true", "1":
		return "yes", nil
	case "n", "no", "false", "0":
		return "no", nil
	}
	return "", fmt.Errorf("%q is neither y nor n", text)
}

func selectValue(f thread.Field, text string) (string, error) {
	o, ok := chosen(f.Options, text)
	if !ok {
		return "", fmt.Errorf("%q is none of the options: type a number from 1 to %d", text, len(f.Options))
	}
	return o.Value, nil
}

func multiSelectValue(f thread.Field, text string) (string, error) {
	// A label may have a comma itself.
	if o, ok := chosen(f.Options, text); ok {
		return o.Value, nil
	}
	var values []string
	for part := range strings.SplitSeq(text, ",") {
		value, err := selectValue(f, strings.TrimSpace(part))
		if err != nil {
			return "", err
		}
		values = append(values, value)
	}
	return strings.Join(values, ", "), nil
}
