package model

import (
	"strings"

	"deerflow/internal/agent"
)

// callMarks begin a tool call that a model wrote as text, in the formats of the
// usual chat templates (A16). They are only recognised, never parsed into
// calls: text may come from a tool's result, which must not be able to call.
var callMarks = []string{
	"<tool_call>", "<tool_calls>", "<|tool_call|>", "<|tool_calls|>", "<|tool_call_begin|>", "<|tool_calls_section_begin|>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "[TOOL_CALLS]", "<function=", "<function_calls>", "<function_call>",
	"<invoke name=", "<|python_tag|>", "<minimax:tool_call>", "<｜DSML｜function_calls>", "<|channel|>commentary to=functions",
}

// nearMark is how far behind a mark the name of its tool is looked for, in bytes.
const nearMark = 300

// textCall reports a tool call in the text, or in the reasoning when there is
// no text: the tool's name, or "a tool" when it is none of ours. It is "" when
// there is none.
func (a *assembly) textCall(tools []agent.ToolSpec) string {
	text := a.text.String()
	if strings.TrimSpace(text) == "" {
		text = a.reasoning.String()
	}
	if !mayHoldMark(text) {
		return ""
	}
	return findTextCall(text, tools)
}

func mayHoldMark(text string) bool { return containsAny(text, callMarks) }

// findTextCall looks for a mark outside of Markdown code that stands at the
// beginning of a line or has the name of a tool behind it.
func findTextCall(text string, tools []agent.ToolSpec) string {
	var code codeTracker
	lineStart := true
	for i := 0; i < len(text); i++ {
		if text[i] == '`' {
			run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
			code.ticks(run)
			i += run - 1
			lineStart = false
			continue
		}
		if !code.inside() {
			if mark := markAt(text[i:]); mark != "" {
				name := toolNear(text[i+len(mark):], tools)
				if name != "" {
					return name
				}
				if lineStart {
					return "a tool"
				}
			}
		}
		code.char(text[i])
		lineStart = text[i] == '\n' || lineStart && (text[i] == ' ' || text[i] == '\t')
	}
	return ""
}

func markAt(text string) string {
	if text[0] != '<' && text[0] != '[' {
		return ""
	}
	for _, mark := range callMarks {
		if strings.HasPrefix(text, mark) {
			return mark
		}
	}
	return ""
}

// toolNear is the tool that is named first in the text behind a mark.
func toolNear(text string, tools []agent.ToolSpec) string {
	text = text[:min(len(text), nearMark)]
	found, at := "", len(text)
	for i := range tools {
		if n := wordIndex(text, tools[i].Name); n >= 0 && n < at {
			found, at = tools[i].Name, n
		}
	}
	return found
}

// wordIndex finds a name that is no part of a longer one.
func wordIndex(text, name string) int {
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return -1
		}
		start, end := from+i, from+i+len(name)
		if (start == 0 || !wordByte(text[start-1])) && (end == len(text) || !wordByte(text[end])) {
			return start
		}
		from = start + 1
	}
	return -1
}

func wordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
}
