package model

import (
	"encoding/json"

	openai "github.com/sashabaranov/go-openai"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// setTools declares the tools. A request whose history has calls always
// declares some (V12), and says that none may be called when that is meant.
func setTools(b *body, learned quirks, cfg *Config, req *Request, history []thread.Message) {
	tools := wireTools(req.Tools)
	none := req.NoTools
	if len(tools) == 0 {
		tools, none = pastTools(history), true
	}
	if len(tools) == 0 {
		return
	}
	b.set("tools", tools)
	if none {
		b.set("tool_choice", "none")
		return
	}
	if p := cfg.Flags.ParallelToolCalls; p != nil && !learned.noParallel {
		b.set("parallel_tool_calls", *p)
	}
}

// wireTools encodes tools. One with a name that providers refuse is left out,
// since a call under another name could not be run; so is a second of a name
// (V4).
func wireTools(specs []agent.ToolSpec) []openai.Tool {
	var tools []openai.Tool
	seen := map[string]bool{}
	for i := range specs {
		s := &specs[i]
		if seen[s.Name] || !validName(s.Name) {
			continue
		}
		seen[s.Name] = true
		tools = append(tools, wireTool(s.Name, s.Description, rootSchema(s.Parameters)))
	}
	return tools
}

func wireTool(name, description string, schema json.RawMessage) openai.Tool {
	return openai.Tool{
		Type:     openai.ToolTypeFunction,
		Function: &openai.FunctionDefinition{Name: name, Description: description, Parameters: schema},
	}
}

// pastTools declares the tools that a history has used, for a request that
// offers none.
func pastTools(history []thread.Message) []openai.Tool {
	var tools []openai.Tool
	seen := map[string]bool{}
	for i := range history {
		if history[i].Role != thread.RoleAI {
			continue
		}
		for _, c := range history[i].ToolCalls {
			if !seen[c.Name] {
				seen[c.Name] = true
				tools = append(tools, wireTool(c.Name, "Not available any more.", rootSchema(nil)))
			}
		}
	}
	return tools
}

// rootSchema makes the root of a schema an object with properties (V11); the
// rest stays as it is, byte for byte where nothing is missing.
func rootSchema(schema json.RawMessage) json.RawMessage {
	const empty = `{"type":"object","properties":{}}`
	root, ok := object[map[string]json.RawMessage](schema)
	if !ok {
		return json.RawMessage(empty)
	}
	_, hasProperties := object[map[string]json.RawMessage](root["properties"])
	if string(root["type"]) == `"object"` && hasProperties {
		return schema
	}
	root["type"] = json.RawMessage(`"object"`)
	if !hasProperties {
		root["properties"] = json.RawMessage("{}")
	}
	fixed, err := json.Marshal(root)
	if err != nil {
		return json.RawMessage(empty)
	}
	return fixed
}
