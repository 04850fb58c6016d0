package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "write the golden files anew")

const schemaFile = "config.schema.json"

// schemaMaker makes the schema of the types.
type schemaMaker struct {
	t        *testing.T
	comments *comments
	missing  []string // keys without a description
}

func makeSchema(t *testing.T) []byte {
	t.Helper()
	m := &schemaMaker{t: t, comments: readComments(t)}
	root := m.structure(reflect.ValueOf(*Defaults()), "")
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "config.yaml of DeerFlow on Temporal"
	root.Defs = map[string]*jsonschema.Schema{
		"variable": {Type: "string", Pattern: `\$`, Description: "$NAME, ${NAME} or ${NAME:-default}: the value of an environment variable."},
	}
	root.AdditionalProperties = nil // unknown sections are warnings
	for _, name := range laterSections() {
		root.Properties[name] = &jsonschema.Schema{Description: "Known and not used by this version."}
		root.PropertyOrder = append(root.PropertyOrder, name)
	}
	sections := topLevelAliases()
	for _, key := range slices.Sorted(func(yield func(string) bool) {
		for key := range sections {
			if !yield(key) {
				return
			}
		}
	}) {
		root.Properties[key] = &jsonschema.Schema{Deprecated: true, Description: fmt.Sprintf("The same as %s.%s.", sections[key], key)}
		root.PropertyOrder = append(root.PropertyOrder, key)
	}
	require.Empty(t, m.missing, "keys without a doc comment")
	data, err := json.MarshalIndent(root, "", "  ")
	require.NoError(t, err)
	return append(data, '\n')
}

func (m *schemaMaker) structure(v reflect.Value, path string) *jsonschema.Schema {
	t := v.Type()
	s := &jsonschema.Schema{Types: []string{"object", "null"}, Properties: map[string]*jsonschema.Schema{}}
	add := func(key string, p *jsonschema.Schema) {
		s.Properties[key] = p
		s.PropertyOrder = append(s.PropertyOrder, key)
	}
	fields, extra := fieldsOf(t)
	for _, f := range fields {
		at := join(path, f.name)
		p := m.value(v.Field(f.index), f, at)
		p.Description = m.comments.of(t, t.Field(f.index))
		if onlyDefault(p.Description) {
			m.missing = append(m.missing, at)
		}
		add(f.name, p)
		for _, alias := range f.aliases {
			same := *p
			same.Deprecated, same.Description, same.Default = true, "The same as "+f.name+".", nil
			add(alias, &same)
		}
		if f.required && len(f.aliases) == 0 {
			s.Required = append(s.Required, f.name)
		}
	}
	if u, ok := reflect.New(t).Interface().(interface{ unusedKeys() []string }); ok {
		for _, key := range u.unusedKeys() {
			add(key, &jsonschema.Schema{Description: "Accepted and not used by this version."})
		}
	}
	if extra < 0 {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	return s
}

func (m *schemaMaker) value(v reflect.Value, f field, path string) *jsonschema.Schema {
	if v.Kind() == reflect.Pointer {
		return m.value(reflect.New(v.Type().Elem()).Elem(), f, path) // without a default: nil says nothing
	}
	s := m.kind(v, f, path)
	if (!v.IsZero() || v.Kind() == reflect.Bool) && v.Kind() != reflect.Struct && !strings.Contains(path, "[") && v.Kind() != reflect.Slice {
		s.Default = encoded(m.t, v)
	}
	return s
}

func (m *schemaMaker) kind(v reflect.Value, f field, path string) *jsonschema.Schema {
	orVariable := func(s *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Ref: "#/$defs/variable"}}}
	}
	switch v.Interface().(type) {
	case LogLevel:
		return orVariable(&jsonschema.Schema{Enum: []any{"debug", "info", "warn", "error", nil}})
	case Toggle:
		return orVariable(&jsonschema.Schema{Enum: []any{"auto", true, false, nil}})
	case Secret:
		return &jsonschema.Schema{Types: []string{"string", "null"}}
	case time.Duration:
		return &jsonschema.Schema{Types: []string{"string", "number", "null"}, Minimum: ptr(0)}
	}
	switch v.Kind() {
	case reflect.Struct:
		return m.structure(withDefaults(v), path)
	case reflect.Bool:
		return orVariable(&jsonschema.Schema{Types: []string{"boolean", "null"}})
	case reflect.Int, reflect.Int64:
		return orVariable(&jsonschema.Schema{Types: []string{"integer", "null"}, Minimum: f.min, Maximum: f.max})
	case reflect.Float64:
		return orVariable(&jsonschema.Schema{Types: []string{"number", "null"}, Minimum: f.min, Maximum: f.max})
	case reflect.String:
		if f.enum == nil {
			return &jsonschema.Schema{Types: []string{"string", "null"}}
		}
		values := []any{nil}
		for _, value := range f.enum {
			values = append(values, value)
		}
		return orVariable(&jsonschema.Schema{Enum: values})
	case reflect.Slice:
		item := m.value(reflect.New(v.Type().Elem()).Elem(), field{unit: time.Second}, path+"[]")
		list := &jsonschema.Schema{Types: []string{"array", "null"}, Items: item}
		if f.single {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{list, item}}
		}
		return list
	case reflect.Map:
		s := &jsonschema.Schema{Types: []string{"object", "null"}}
		if v.Type().Elem().Kind() != reflect.Interface {
			s.AdditionalProperties = m.value(reflect.New(v.Type().Elem()).Elem(), f, path+"[]")
		}
		return s
	}
	m.t.Fatalf("%s: no schema for %s", path, v.Type())
	return nil
}

// withDefaults is v, or for an element of a list what it starts with.
func withDefaults(v reflect.Value) reflect.Value {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	if d, ok := p.Interface().(defaulter); ok && v.IsZero() {
		d.setDefaults()
	}
	return p.Elem()
}

func encoded(t *testing.T, v reflect.Value) json.RawMessage {
	t.Helper()
	value := v.Interface()
	if d, ok := value.(time.Duration); ok {
		value = d.String()
	}
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return data
}

func ptr(n float64) *float64 { return &n }

func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	want := makeSchema(t)
	if *update {
		require.NoError(t, os.WriteFile(schemaFile, want, 0o600))
		return
	}
	require.True(t, bytes.Equal(want, Schema()), "the types have changed: go test ./config -run TestSchemaIsCurrent -update")
}

// The schema takes what the loader takes, and refuses what it refuses.
func TestSchemaAgreesWithTheLoader(t *testing.T) {
	t.Parallel()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(Schema(), &s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	check := func(text string) error {
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(text), &value))
		data, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &value))
		return resolved.Validate(value)
	}
	for _, file := range []string{filepath.Join("testdata", "deerflow.yaml"), filepath.Join("..", "config.example.yaml")} {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, check(string(data)), file)
	}
	defaults, err := yaml.Marshal(Defaults())
	require.NoError(t, err)
	require.NoError(t, check(string(defaults)), "the defaults as they are shown")
	for _, text := range []string{
		"title: {enabled: $ON, max_chars: '${N:-60}'}", "thread: {idle_timeout: 24h}", "thread: {idle_timeout: 90}", "title: null",
		"summarization: {trigger: {type: tokens, value: 5}}", "something: 1", "x-anchors: {}", "auth: {enabled: auto}", "auth: {enabled: true}",
		"models: [{name: a, use: openai, model_name: m, top_k: 3}]",
	} {
		require.NoError(t, check(text), text)
	}
	for _, text := range []string{
		"title: {max_words: 21}", "title: {max_word: 3}", "title: 3", "thread: {max_turns: many}", "models: [{use: demo}]",
		"clarification: {on_timeout: wait}", "summarization: {keep: {type: weeks, value: 1}}", "token_budget: {max_tokens: 10}",
	} {
		require.Error(t, check(text), text)
		_, _, err := parse("c.yaml", []byte(text), env())
		require.Error(t, err, text)
	}
}
