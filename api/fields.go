package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"deerflow/internal/thread"
)

// object reads the fields of a JSON object and gathers what is wrong with them,
// so that one answer names every bad field. A null is like a field that was not
// sent.
type object struct {
	raw  map[string]json.RawMessage
	loc  []any
	errs *[]fieldError
}

// err is the 422 that names all bad fields, or nil.
func (o object) err() error {
	if len(*o.errs) == 0 {
		return nil
	}
	return &apiError{status: http.StatusUnprocessableEntity, detail: *o.errs}
}

// fault notes that a field is bad.
func (o object) fault(key, kind, format string, args ...any) {
	*o.errs = append(*o.errs, fieldError{
		Loc: append(slices.Clone(o.loc), key), Msg: fmt.Sprintf(format, args...), Type: kind,
	})
}

// get is a field as it was sent, nil when it is absent or null.
func (o object) get(key string) json.RawMessage {
	raw := bytes.TrimSpace(o.raw[key])
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}

func (o object) decode(key, kind, want string, into any) bool {
	raw := o.get(key)
	if raw == nil {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		o.fault(key, kind, "Input should be a valid %s", want)
		return false
	}
	return true
}

func (o object) text(key string) string {
	var s string
	o.decode(key, "string_type", "string", &s)
	return s
}

// word is a text of at most [maxOption] bytes.
func (o object) word(key string) string {
	s := o.text(key)
	if len(s) > maxOption {
		o.fault(key, "string_too_long", "Input should have at most %d bytes, it has %d", maxOption, len(s))
		return ""
	}
	return s
}

func (o object) flag(key string) *bool {
	var b bool
	if !o.decode(key, "bool_type", "boolean", &b) {
		return nil
	}
	return &b
}

// number reads an integer within bounds, def when it is absent.
func (o object) number(key string, def, low, high int) int {
	n := def
	if !o.decode(key, "int_type", "integer", &n) {
		return def
	}
	if n < low || n > high {
		o.fault(key, "value_error", "Input should be between %d and %d", low, high)
		return def
	}
	return n
}

// oneOf reads a text that must be one of the words; the first is the default.
func (o object) oneOf(key string, words ...string) string {
	s := o.text(key)
	if s == "" {
		return words[0]
	}
	if !slices.Contains(words, s) {
		o.fault(key, "literal_error", "Input should be %s, got %q", quotedList(words), s)
		return words[0]
	}
	return s
}

// child is a field that is an object; one without fields when it is absent.
func (o object) child(key string) object {
	c := object{loc: append(slices.Clone(o.loc), key), errs: o.errs}
	o.decode(key, "dict_type", "object", &c.raw)
	return c
}

// texts reads a list of strings.
func (o object) texts(key string) []string {
	var list []string
	o.decode(key, "list_type", "list of strings", &list)
	return list
}

// unsupported notes a field whose value asks for something that is not done.
// Absent, null, false, 0, "" and empty lists and objects ask for nothing.
func (o object) unsupported(keys ...string) {
	for _, key := range keys {
		var sent bytes.Buffer
		if raw := o.get(key); raw == nil || json.Compact(&sent, raw) != nil {
			continue
		}
		switch sent.String() {
		case "false", "0", `""`, "[]", "{}":
		default:
			o.fault(key, "unsupported", "%s is not supported, got %s", key, thread.Prefix(sent.String(), 80))
		}
	}
}

func quotedList(words []string) string {
	var quoted []string
	for _, w := range words {
		if w != "" {
			quoted = append(quoted, "'"+w+"'")
		}
	}
	return strings.Join(quoted, ", ")
}
