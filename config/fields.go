package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is what the decoder knows of one struct field. The name comes from the
// yaml tag, the rest from the conf tag, a comma-separated list of
//
//	required      the key must be given and not empty
//	alias=a|b     other keys with the same meaning
//	enum=a|b      the only texts allowed
//	min=n, max=n  bounds of a number, or of a duration in seconds
//	unit=ms       what a plain number means for a duration (seconds without)
//
// //	single        one element may stand for a list of it
//
//	rest          the map that takes all other keys, as an inline one does
type field struct {
	name     string
	index    int
	required bool
	aliases  []string
	enum     []string
	min, max *float64
	unit     time.Duration
	single   bool
}

// fieldsOf returns the fields of a struct type that keys decode into, and the
// index of the map that takes all other keys, -1 when there is none.
func fieldsOf(t reflect.Type) (fields []field, extra int) {
	extra = -1
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		switch {
		case options == "inline" || t.Field(i).Tag.Get("conf") == "rest":
			extra = i
		case name != "" && name != "-":
			f := field{name: name, index: i, unit: time.Second}
			if err := f.read(t.Field(i).Tag.Get("conf")); err != nil {
				panic(fmt.Sprintf("config: conf tag of %s.%s: %v", t, t.Field(i).Name, err))
			}
			fields = append(fields, f)
		}
	}
	return fields, extra
}

func (f *field) read(tag string) error {
	if tag == "" {
		return nil
	}
	for part := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "required":
			f.required = true
		case "single":
			f.single = true
		case "alias":
			f.aliases = strings.Split(value, "|")
		case "enum":
			f.enum = strings.Split(value, "|")
		case "min":
			f.min, err = bound(value)
		case "max":
			f.max, err = bound(value)
		case "unit":
			f.unit, err = time.ParseDuration("1" + value)
		default:
			err = fmt.Errorf("unknown check %q", key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func bound(text string) (*float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	return &n, err
}

// answersTo reports whether key is the field's name or one of its aliases.
func (f *field) answersTo(key string) bool { return f.name == key || slices.Contains(f.aliases, key) }

// fieldNames returns the keys of a struct value, without the aliases.
func fieldNames(v any) []string {
	fields, _ := fieldsOf(reflect.TypeOf(v))
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}
