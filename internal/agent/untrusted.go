package agent

import (
	"regexp"
	"strings"
)

// frameworkTags are the names under which the framework speaks to the model.
// Text from users, pages and tools must not be able to use them.
var frameworkTags = []string{
	"system-reminder", "system_reminder", "memory", "current_date", "think", "analysis", "role", "soul", "self_update",
	"thinking_style", "clarification_system", "critical_reminders", "response_style", "citations", "uploaded_files",
	"current_uploads", "subagent_system", "skill_system", "skill_index", "available_skills", "disabled_skills",
	"memory_tool_system", "todo_list_system", "durable_context_data", "slash_skill_activation", "mcp_routing_hints",
	"available-deferred-tools", "goal_continuation", "background_task_event", "file_editing_workflow", "guidelines",
	"output_format", "working_directory", "tool_restrictions", "system", "instruction", "important", "override", "ignore",
	"prompt",
}

var frameworkTag = regexp.MustCompile(`(?i)<(\s*/?\s*(?:` + strings.Join(frameworkTags, "|") + `)\b[^<>]*)(>?)`)

// Neutralize escapes the framework's tags in a text that is not the framework's
// (spec 2.6). Other tags and angle brackets stay as they are.
func Neutralize(text string) string {
	text = frameworkTag.ReplaceAllStringFunc(text, func(tag string) string {
		return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(tag)
	})
	text = strings.ReplaceAll(text, beginUserInput, "[BEGIN USER INPUT]")
	return strings.ReplaceAll(text, endUserInput, "[END USER INPUT]")
}
