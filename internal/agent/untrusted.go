package agent

import (
	"regexp"
	"strings"
)

// frameworkTags are the names under which the framework speaks to the model.
// Text from users, pages and tools must not be able to use them. Every tag of
// the prompt and of the context blocks stands here, and those in which model
// families put tool calls.
var frameworkTags = []string{
	"system-reminder", "system_reminder", "memory", "current_date", "think", "analysis", "role", "soul", "self_update",
	"thinking_style", "clarification_system", "critical_reminders", "response_style", "citations", "uploaded_files",
	"current_uploads", "subagent_system", "skill_system", "skill_index", "available_skills", "disabled_skills",
	"memory_tool_system", "todo_list_system", "durable_context_data", "slash_skill_activation", "mcp_routing_hints",
	"available-deferred-tools", "goal_continuation", "background_task_event", "file_editing_workflow", "guidelines",
	"output_format", "working_directory", "tool_restrictions", "system", "instruction", "important", "override", "ignore",
	"prompt", "input_boundary", "confidentiality", "tool_call", "tool_response", "tool_result",
}

const blanks = `[\x00-\x20\x7F]*`

var (
	// A tag that is not closed, or has attributes, is one to a model all the same.
	// The bars are those of the marks of chat templates, <|im_start|>.
	frameworkTag = regexp.MustCompile(`(?i)<(?:` + blanks + `/?` + blanks + `(?:` + strings.Join(frameworkTags, "|") + `)\b[^<>]*>?|\|[^|<>\s]{1,40}\|>)`)
	boundaryLine = regexp.MustCompile(`(?i)--+` + blanks + `(BEGIN|END)` + blanks + `USER` + blanks + `INPUT` + blanks + `--+`)
)

// Neutralize escapes the framework's tags in a text that is not the framework's
// (spec 2.6): the brackets of a tag become entities, a boundary line gets square
// brackets. Other tags and brackets stay as they are, and a second time changes
// nothing.
func Neutralize(text string) string {
	return replaceBoundaries(escapeTags(text))
}

func escapeTags(text string) string {
	f := fold(text)
	var b strings.Builder
	done := 0
	for _, at := range frameworkTag.FindAllStringIndex(f.text, -1) {
		open, end := f.original(at[0]), f.original(at[1])
		b.WriteString(text[done:open])
		b.WriteString("&lt;")
		done = f.after(at[0])
		if last := at[1] - 1; f.text[last] == '>' {
			b.WriteString(text[done:f.original(last)])
			b.WriteString("&gt;")
			done = f.after(last)
			continue
		}
		b.WriteString(text[done:end])
		done = end
	}
	b.WriteString(text[done:])
	return b.String()
}

func replaceBoundaries(text string) string {
	f := fold(text)
	var b strings.Builder
	done := 0
	for _, at := range boundaryLine.FindAllStringSubmatchIndex(f.text, -1) {
		b.WriteString(text[done:f.original(at[0])])
		b.WriteString("[" + strings.ToUpper(f.text[at[2]:at[3]]) + " USER INPUT]")
		done = f.after(at[1] - 1)
	}
	b.WriteString(text[done:])
	return b.String()
}

// Line is a foreign text that goes into one line of the framework's own: without
// tags, and without a line break that would let it begin a line.
func Line(text string) string {
	return Neutralize(strings.Join(strings.Fields(text), " "))
}
