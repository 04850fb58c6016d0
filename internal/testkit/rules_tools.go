package testkit

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxToolName is the longest tool name that providers accept, in bytes.
const maxToolName = 64

// checkCallIDs checks V3.
func checkCallIDs(c *chat, _ Rules) []Violation {
	var found []Violation
	for i, m := range c.messages {
		seen := map[string]bool{}
		for j, call := range m.ToolCalls {
			path := callPath(i, j) + ".id"
			switch {
			case call.ID == "":
				found = append(found, Violation{V3, path, "missing, empty or not a string"})
			case seen[call.ID]:
				found = append(found, Violation{V3, path, fmt.Sprintf("%q stands twice in one message", call.ID)})
			}
			seen[call.ID] = true
		}
	}
	return found
}

// checkToolNames checks V4 in the history and in the declared tools. The name
// of a tool message is optional, but must be a valid one when it is there.
func checkToolNames(c *chat, _ Rules) []Violation {
	var found []Violation
	note := func(path, name string) {
		if fault := nameFault(name); fault != "" {
			found = append(found, Violation{V4, path, fault})
		}
	}
	for i, m := range c.messages {
		for j, call := range m.ToolCalls {
			note(callPath(i, j)+".function.name", call.Name)
		}
		if _, named := m.Fields["name"]; named && m.Role == "tool" {
			note(messagePath(i)+".name", m.Name)
		}
	}
	declared := map[string]bool{}
	for i, tool := range c.tools {
		path := fmt.Sprintf("tools[%d].function.name", i)
		note(path, tool.Name)
		if declared[tool.Name] && tool.Name != "" {
			found = append(found, Violation{V4, path, fmt.Sprintf("%q is declared twice", tool.Name)})
		}
		declared[tool.Name] = true
	}
	return found
}

// nameFault says what is wrong with a tool name, "" when nothing is.
func nameFault(name string) string {
	if name == "" {
		return "the tool name is empty"
	}
	if len(name) > maxToolName {
		return fmt.Sprintf("the tool name %q has %d characters, at most %d are allowed", name, len(name), maxToolName)
	}
	bad := strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
	if bad >= 0 {
		return fmt.Sprintf("the tool name %q has characters outside [A-Za-z0-9_-]", name)
	}
	return ""
}

// checkArguments checks V5.
func checkArguments(c *chat, _ Rules) []Violation {
	var found []Violation
	for i, m := range c.messages {
		for j, call := range m.ToolCalls {
			path := callPath(i, j) + ".function.arguments"
			text, isString := stringValue(call.Function, "arguments")
			switch {
			case !isString:
				found = append(found, Violation{V5, path, "absent or not a string"})
			case !isObject([]byte(text)):
				found = append(found, Violation{V5, path, fmt.Sprintf("not the text of a JSON object: %.80q", text)})
			}
		}
	}
	return found
}

// checkSchemas checks V11. A tool with no schema at all breaks it too.
func checkSchemas(c *chat, _ Rules) []Violation {
	var found []Violation
	for i, tool := range c.tools {
		path := fmt.Sprintf("tools[%d].function.parameters", i)
		var root map[string]json.RawMessage
		if isNull(tool.Parameters) || json.Unmarshal(tool.Parameters, &root) != nil {
			found = append(found, Violation{V11, path, fmt.Sprintf("tool %q has no schema object", tool.Name)})
			continue
		}
		if kind, isString := stringValue(root, "type"); !isString || kind != "object" {
			found = append(found, Violation{V11, path + ".type", fmt.Sprintf("the root of tool %q must have type \"object\"", tool.Name)})
		}
		if !isObject(root["properties"]) {
			found = append(found, Violation{V11, path + ".properties", fmt.Sprintf("the root of tool %q must have properties", tool.Name)})
		}
	}
	return found
}

// checkToolsAbsent checks V12. An empty list of tools is none.
func checkToolsAbsent(c *chat, _ Rules) []Violation {
	if len(c.tools) > 0 {
		return nil
	}
	for i, m := range c.messages {
		if len(m.ToolCalls) > 0 {
			return []Violation{{V12, messagePath(i), "the history has tool calls but the request declares no tools"}}
		}
	}
	return nil
}

// isObject reports whether raw is one JSON object and nothing else.
func isObject(raw []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}
