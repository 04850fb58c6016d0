package model

import (
	"strings"

	"deerflow/internal/agent"
)

// unknownTool stands in for a tool name that is missing (B05).
const unknownTool = "unknown_tool"

// maxToolName is the longest tool name that providers accept, in bytes.
const maxToolName = 64

// validName reports whether providers accept a tool name (V4).
func validName(name string) bool { return name != "" && wireName(name) == name }

// wireName is a name that providers accept: other characters become
// underscores, a blank name becomes the stand-in.
func wireName(name string) string {
	name = strings.TrimSpace(name)
	if name == "" {
		return unknownTool
	}
	safe := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return safe[:min(len(safe), maxToolName)]
}

// resolveName finds the tool that a model means: some put a namespace before
// the name ("functions.ls") or blanks around it.
func resolveName(name string, tools []agent.ToolSpec) string {
	name = strings.TrimSpace(name)
	if hasTool(tools, name) {
		return name
	}
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 && hasTool(tools, name[i+1:]) {
		return name[i+1:]
	}
	if name == "" {
		return unknownTool
	}
	return name
}

func hasTool(tools []agent.ToolSpec, name string) bool {
	for i := range tools {
		if tools[i].Name == name {
			return true
		}
	}
	return false
}
