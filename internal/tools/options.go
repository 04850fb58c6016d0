package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"deerflow/internal/thread"
)

// Bounds of the choices of a card.
const (
	maxOptions = 24
	maxLabel   = 200 // characters
)

// normalizeOptions makes choices out of whatever a model sent: a list, a list in
// a string, a plain string, objects whose values are meant. Tags are taken out,
// blanks and repetitions left out; what is too long is cut, since a person can
// always answer freely.
func normalizeOptions(raw json.RawMessage) []thread.Option {
	var options []thread.Option
	for _, o := range rawOptions(raw) {
		o.Label = thread.Shorten(o.Label, maxLabel)
		o.Value = thread.Shorten(o.Value, maxLabel)
		if len(options) < maxOptions {
			options = append(options, o)
		}
	}
	return options
}

// rawOptions are the choices without bounds.
func rawOptions(raw json.RawMessage) []thread.Option {
	var found []thread.Option
	seen := map[string]bool{}
	add := func(label, value string) {
		label, value = withoutTags(label), withoutTags(value)
		if value == "" || seen[value] {
			value = label
		}
		if label == "" || seen[label] || seen[value] { // pages take no two of a value
			return
		}
		seen[label], seen[value] = true, true
		found = append(found, thread.Option{ID: fmt.Sprintf("option-%d", len(found)+1), Label: label, Value: value})
	}
	raw = unwrapString(raw)
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil { // null is an empty list
		list = []json.RawMessage{raw}
	}
	for _, item := range list {
		var named struct {
			Label *string         `json:"label"`
			Value json.RawMessage `json:"value"`
		}
		if json.Unmarshal(item, &named) == nil && named.Label != nil {
			add(*named.Label, plainText(named.Value))
			continue
		}
		for _, s := range scalars(item) {
			add(s, s)
		}
	}
	return found
}

// unwrapString gives the JSON in a string, or the value as it is.
func unwrapString(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	if inner := json.RawMessage(strings.TrimSpace(s)); json.Valid(inner) {
		return inner
	}
	return raw
}

// scalars are the strings, numbers, booleans and nulls of a value, in their
// order.
func scalars(raw json.RawMessage) []string {
	var out []string
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var inObject []bool // for every open level
	expectKey := false
	for {
		token, err := d.Token()
		if err != nil {
			return out
		}
		delim, isDelim := token.(json.Delim)
		switch {
		case isDelim && (delim == '{' || delim == '['):
			inObject = append(inObject, delim == '{')
			expectKey = delim == '{'
			continue
		case isDelim:
			inObject = inObject[:len(inObject)-1]
		case expectKey:
			expectKey = false
			continue
		case token == nil:
			out = append(out, "null")
		default:
			out = append(out, fmt.Sprint(token))
		}
		expectKey = len(inObject) > 0 && inObject[len(inObject)-1]
	}
}

var xmlTag = regexp.MustCompile(`</?[A-Za-z][^<>]*>`)

func withoutTags(s string) string { return strings.TrimSpace(xmlTag.ReplaceAllString(s, "")) }

// plainText is a value as text: a string as it is, a list or object as its
// scalars, nothing for null.
func plainText(raw json.RawMessage) string {
	if string(bytes.TrimSpace(raw)) == "null" {
		return ""
	}
	return strings.TrimSpace(strings.Join(scalars(raw), ", "))
}

// fits reports whether a text of a form is short enough.
func fits(s string) bool { return utf8.RuneCountInString(s) <= maxLabel }
