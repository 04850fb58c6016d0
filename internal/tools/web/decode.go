package web

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Text is a text in an answer of a service. A number or truth value is taken as
// it is written; null, a list or an object is "".
type Text string

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	var s string
	switch {
	case json.Unmarshal(data, &s) == nil:
		*t = Text(s)
	case len(data) > 0 && data[0] != '[' && data[0] != '{':
		*t = Text(data)
	default:
		*t = ""
	}
	return nil
}

// String is the text without the space around it.
func (t Text) String() string { return strings.TrimSpace(string(t)) }

// Number is a whole number in an answer of a service, also one in a text; 0 for
// everything else.
type Number int

// UnmarshalJSON never fails.
func (n *Number) UnmarshalJSON(data []byte) error {
	f, ok := number(strings.Trim(string(data), `" `))
	if *n = 0; ok && f > -1e9 && f < 1e9 {
		*n = Number(f)
	}
	return nil
}

// List is a list in an answer of a service. Items of another shape are left out;
// null is an empty list, and a value that is no list is an error.
type List[T any] []T

// UnmarshalJSON reads what fits.
func (l *List[T]) UnmarshalJSON(data []byte) error {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	*l = nil
	for _, raw := range items {
		var item T
		if string(bytes.TrimSpace(raw)) != "null" && json.Unmarshal(raw, &item) == nil {
			*l = append(*l, item)
		}
	}
	return nil
}
