package tools

import (
	"bytes"
	"encoding/json"
	"slices"

	"deerflow/internal/thread"
)

// Bounds of a form.
const (
	maxFields    = 16
	maxFormBytes = 16_384
)

// fieldTypes are what a form can ask for; the first stands in for any other.
var fieldTypes = []string{"text", "textarea", "number", "select", "multi_select", "checkbox", "date"}

// reservedNames are properties that every object of a browser has: a field of
// that name would change the object instead of adding to it.
var reservedNames = []string{
	"__proto__", "prototype", "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString",
	"toString", "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
}

// normalizeFields makes a form, or nil when there is none or anything in it is
// not in order: then the whole form is given up and options or free text apply.
func normalizeFields(raw json.RawMessage) []thread.Field {
	var list []json.RawMessage
	if json.Unmarshal(unwrapString(raw), &list) != nil || len(list) == 0 || len(list) > maxFields {
		return nil
	}
	fields := make([]thread.Field, 0, len(list))
	names := map[string]bool{}
	for _, item := range list {
		f, ok := normalizeField(item)
		if !ok || names[f.Name] {
			return nil
		}
		names[f.Name] = true
		fields = append(fields, f)
	}
	if data, err := json.Marshal(fields); err != nil || len(data) > maxFormBytes {
		return nil
	}
	return fields
}

func normalizeField(raw json.RawMessage) (thread.Field, bool) {
	var in struct {
		Name        json.RawMessage `json:"name"`
		Label       json.RawMessage `json:"label"`
		Type        json.RawMessage `json:"type"`
		Required    json.RawMessage `json:"required"`
		Placeholder json.RawMessage `json:"placeholder"`
		Options     json.RawMessage `json:"options"`
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) || json.Unmarshal(raw, &in) != nil {
		return thread.Field{}, false
	}
	f := thread.Field{
		Name: plainText(in.Name), Label: withoutTags(plainText(in.Label)),
		Type: plainText(in.Type), Placeholder: withoutTags(plainText(in.Placeholder)),
	}
	if f.Label == "" {
		f.Label = f.Name
	}
	if !slices.Contains(fieldTypes, f.Type) || !bytes.HasPrefix(bytes.TrimSpace(in.Type), []byte(`"`)) {
		f.Type = fieldTypes[0]
	}
	if f.Type == "select" || f.Type == "multi_select" {
		if f.Options = rawOptions(in.Options); len(f.Options) == 0 {
			f.Type = fieldTypes[0]
		}
	}
	var ok bool
	f.Required, ok = yesOrNo(in.Required)
	return f, ok && inOrder(f)
}

// yesOrNo reads a truth value, also as 0 or 1; nothing is no.
func yesOrNo(raw json.RawMessage) (yes, ok bool) {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "false", "0":
		return false, true
	case "true", "1":
		return true, true
	}
	return false, false
}

// inOrder reports whether a page can show a field.
func inOrder(f thread.Field) bool {
	if f.Name == "" || slices.Contains(reservedNames, f.Name) || len(f.Options) > maxOptions {
		return false
	}
	for _, o := range f.Options {
		if !fits(o.Label) || !fits(o.Value) {
			return false
		}
	}
	return fits(f.Name) && fits(f.Label) && fits(f.Placeholder)
}
