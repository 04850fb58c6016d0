package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"deerflow/internal/thread"
)

// arguments checks what a model sent against the schema of a tool, one argument
// at a time, so that the answer can name the one that is wrong.
type arguments struct {
	names    []string // in the order of the schema
	types    map[string]string
	schemas  map[string]*jsonschema.Resolved
	required []string
	loose    []string
}

// labelArg is the argument that only people read. No tool gets it.
const labelArg = "description"

func newArguments(s *jsonschema.Schema, labelled bool, loose []string) (arguments, error) {
	a := arguments{
		names: s.PropertyOrder, required: s.Required, loose: loose,
		types: map[string]string{}, schemas: map[string]*jsonschema.Resolved{},
	}
	if labelled {
		isLabel := func(name string) bool { return name == labelArg }
		a.names = slices.DeleteFunc(slices.Clone(a.names), isLabel)
		a.required = slices.DeleteFunc(slices.Clone(a.required), isLabel)
	}
	for _, name := range a.names {
		p := s.Properties[name]
		r, err := p.Resolve(nil)
		if err != nil {
			return arguments{}, fmt.Errorf("argument %s: %w", name, err)
		}
		a.types[name], a.schemas[name] = p.Type, r
	}
	return a, nil
}

// check gives the arguments as one JSON object that fits, or what is wrong with
// them. Nothing and null are {}, and a null argument is one that was not sent
// (A13). Values that only have the wrong type of JSON are put right: models send
// "5" for 5, and a list in a string.
func (a *arguments) check(raw json.RawMessage) (json.RawMessage, string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		raw = json.RawMessage("{}")
	}
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(raw, &sent); err != nil {
		return nil, "the arguments must be a JSON object"
	}
	kept := map[string]json.RawMessage{}
	for _, name := range a.names {
		value, ok := sent[name]
		if !ok || bytes.Equal(value, []byte("null")) {
			continue
		}
		if !slices.Contains(a.loose, name) {
			value = coerce(value, a.types[name])
			if !a.fits(name, value) {
				return nil, fmt.Sprintf("argument %q must be %s, got %s", name, article(a.types[name]), excerpt(value))
			}
		}
		kept[name] = value
	}
	var missing []string
	for _, name := range a.required {
		if _, ok := kept[name]; !ok && !slices.Contains(a.loose, name) {
			missing = append(missing, strconv.Quote(name))
		}
	}
	if len(missing) > 0 {
		return nil, "missing required argument " + strings.Join(missing, ", ")
	}
	clean, err := json.Marshal(kept)
	if err != nil {
		return nil, err.Error()
	}
	return clean, ""
}

// fits reports whether a value is what the schema wants.
func (a *arguments) fits(name string, value json.RawMessage) bool {
	var v any
	if json.Unmarshal(value, &v) != nil || a.schemas[name].Validate(v) != nil {
		return false
	}
	return a.types[name] != "integer" || isInt(value)
}

// coerce gives a value the type that is wanted when it means the same.
func coerce(value json.RawMessage, want string) json.RawMessage {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return value
	}
	switch v := v.(type) {
	case string:
		return coerceString(value, v, want)
	case float64:
		if want == "integer" && v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return json.RawMessage(strconv.FormatInt(int64(v), 10))
		}
		if want == "string" {
			return quote(string(bytes.TrimSpace(value)))
		}
	case bool:
		if want == "string" {
			return quote(strconv.FormatBool(v))
		}
	}
	return value
}

// isInt reports whether a number is one that Go can hold.
func isInt(value json.RawMessage) bool {
	var n int
	return json.Unmarshal(value, &n) == nil
}

func coerceString(value json.RawMessage, s, want string) json.RawMessage {
	trimmed := strings.TrimSpace(s)
	switch want {
	case "integer":
		if n, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
			return json.RawMessage(strconv.FormatInt(n, 10))
		}
	case "boolean":
		switch strings.ToLower(trimmed) {
		case "true", "yes", "1":
			return json.RawMessage("true")
		case "false", "no", "0":
			return json.RawMessage("false")
		}
	case "array":
		var list []json.RawMessage
		if json.Unmarshal([]byte(trimmed), &list) == nil {
			return json.RawMessage(trimmed)
		}
		return json.RawMessage("[" + string(quote(s)) + "]")
	}
	return value
}

func quote(s string) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return data
}

func article(kind string) string {
	switch kind {
	case "integer", "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

// excerpt shows a value without echoing a long one.
func excerpt(value json.RawMessage) string {
	if len(value) <= 60 {
		return string(value)
	}
	return thread.Prefix(string(value), 57) + "..."
}
