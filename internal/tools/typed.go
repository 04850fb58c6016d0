package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"deerflow/internal/agent"
)

// callTimeout bounds a call of every tool that has no time of its own.
const callTimeout = 60 * time.Second

// definition is a tool whose arguments are a struct: its fields with their json
// and jsonschema tags are the schema that the model sees.
type definition[P any] struct {
	name        string
	description string
	class       agent.RetryClass
	key         agent.KeyRule
	shell       string        // see [agent.ToolSpec]
	writes      string        // see [agent.ToolSpec]
	timeout     time.Duration // 0 means callTimeout
	// labelled: the first argument is a description of the call for people. The
	// model is asked for it, but a call without it is as good.
	labelled bool
	// loose are arguments that the tool itself makes sense of, whatever was sent.
	loose []string
	// adjust changes the schema where tags cannot say it.
	adjust func(*jsonschema.Schema)
	run    func(ctx context.Context, c Call, p P) (Result, error)
}

// typed is a tool with arguments of type P.
type typed[P any] struct {
	spec agent.ToolSpec
	args arguments
	run  func(ctx context.Context, c Call, p P) (Result, error)
}

// build makes the tool. It fails when the schema cannot be made, which is a
// mistake in the definition.
func (d definition[P]) build() (Tool, error) {
	schema, err := jsonschema.For[P](nil)
	if err != nil {
		return nil, fmt.Errorf("schema of tool %s: %w", d.name, err)
	}
	// An argument too many is no reason to refuse a call, and null is no type of
	// its own: some providers take no list of types.
	schema.AdditionalProperties = nil
	for _, p := range schema.Properties {
		dropNull(p)
	}
	if schema.Properties == nil {
		schema.Properties = map[string]*jsonschema.Schema{}
	}
	if d.adjust != nil {
		d.adjust(schema)
	}
	parameters, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("schema of tool %s: %w", d.name, err)
	}
	args, err := newArguments(schema, d.labelled, d.loose)
	if err != nil {
		return nil, fmt.Errorf("schema of tool %s: %w", d.name, err)
	}
	timeout := d.timeout
	if timeout == 0 {
		timeout = callTimeout
	}
	return &typed[P]{
		spec: agent.ToolSpec{
			Name: d.name, Description: strings.TrimSpace(d.description), Parameters: parameters,
			Class: d.class, Timeout: timeout, Key: d.key, Shell: d.shell, Writes: d.writes,
		},
		args: args, run: d.run,
	}, nil
}

// dropNull makes a nullable type the plain one.
func dropNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	dropNull(s.Items)
}

// Spec says what the model sees.
func (t *typed[P]) Spec() agent.ToolSpec { return t.spec }

// Call checks the arguments and runs the tool. Bad arguments are a result that
// names them.
func (t *typed[P]) Call(ctx context.Context, c Call) (Result, error) {
	clean, problem := t.args.check(c.Args)
	if problem != "" {
		return failure("Invalid arguments for %s: %s", t.spec.Name, problem), nil
	}
	var p P
	if err := json.Unmarshal(clean, &p); err != nil {
		return failure("Invalid arguments for %s: %v", t.spec.Name, err), nil
	}
	c.Env.Limits = c.Env.Limits.withDefaults()
	return t.run(ctx, c, p)
}
