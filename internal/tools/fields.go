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
var fieldTypes = []string{"text", "textarea", "number", "select", "multi_select", "checkbox", "date"} //nolint:gochecknoglobals // read only

// reservedNames are properties that every object of a browser has: a field of
// that name would change the object instead of adding to it.
var reservedNames = []string{ //nolint:gochecknoglobals // read only
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
	switch string(bytes.TrimSpace(in.Required)) {
	case "", "null", "false", "0":
	case "true", "1":
		f.Required = true
	default:
		return f, false
	}
	if f.Type == "select" || f.Type == "multi_select" {
		if f.Options = rawOptions(in.Options); len(f.Options) == 0 {
			f.Type = fieldTypes[0]
		}
	}
	tooLong := func(o thread.Option) bool { return !fits(o.Label) || !fits(o.Value) }
	ok := f.Name != "" && !slices.Contains(reservedNames, f.Name) && fits(f.Name) && fits(f.Label) && fits(f.Placeholder) &&
		len(f.Options) <= maxOptions && !slices.ContainsFunc(f.Options, tooLong)
	return f, ok
}
