package agent

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

//go:embed prompt/*.tmpl
var promptFiles embed.FS

// promptSections are the sections of the prompt in order (spec 7), each a file. A
// section whose condition does not hold writes nothing.
var promptSections = []string{
	"role", "input_boundary", "confidentiality", "soul", "self_update", "thinking_style", "clarification_system",
	"skill_system", "memory_tool_system", "deferred_tools", "mcp_routing_hints", "subagent_system", "todo_list_system",
	"working_directory", "response_style", "citations", "critical_reminders",
}

var promptTemplate = template.Must(template.New("prompt").
	Funcs(template.FuncMap{"line": Line, "text": func(s string) string { return strings.TrimSpace(Neutralize(s)) }}).
	ParseFS(promptFiles, "prompt/*.tmpl"))

// PromptInput is what the static prompt depends on. It has no date, no memory and
// nothing else that changes within a thread, so a provider can cache the prefix.
// Texts may be anything: they are escaped where they are written.
type PromptInput struct {
	AgentName     string // "DeerFlow" when empty
	Soul          string // the character of a custom agent
	SelfUpdate    bool   // the agent may change its own description
	Clarification bool   // the run may ask its user
	Skills        PromptSkills
	MemoryTools   bool     // the model keeps the memory itself, with tools
	Deferred      []string // tools that are loaded by a search
	Routing       []RoutingHint
	Subagents     *PromptSubagents // nil: none can be called
	PlanMode      bool
	Bash          bool // a shell is among the tools
	Mounts        []PromptMount
	ACP           bool // agents of others can be called
}

// PromptSkills are the skills of an agent, with their descriptions or, when those
// are looked up, by name.
type PromptSkills struct {
	Listed    []PromptSkill
	Index     []string
	Disabled  []string
	Evolution bool // the model may write skills
}

// PromptSkill is a skill as the prompt lists it.
type PromptSkill struct {
	Name        string
	Description string
	Path        string // of its SKILL.md, virtual
	Custom      bool   // the user's own
}

// RoutingHint says what a tool is preferred for.
type RoutingHint struct {
	Tool     string
	Keywords []string
	Priority int // the higher, the earlier
}

// PromptSubagents are the sub-agents that can be called, with the limits that are
// kept.
type PromptSubagents struct {
	MaxConcurrent int
	MaxTotal      int // in a run
	Types         []PromptSubagent
}

// PromptSubagent is a kind of sub-agent.
type PromptSubagent struct {
	Name        string
	Description string
}

// PromptMount is a directory that an operator shows to the tools.
type PromptMount struct {
	Path     string // virtual
	ReadOnly bool
}

// Prompt writes the system prompt of an agent. The order in which tools and hints
// are given does not matter.
func Prompt(in PromptInput) (string, error) {
	in.AgentName = cmp.Or(in.AgentName, "DeerFlow")
	in.Deferred = slices.Sorted(slices.Values(in.Deferred))
	in.Routing = slices.SortedFunc(slices.Values(in.Routing), func(a, b RoutingHint) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Tool, b.Tool))
	})
	data := struct {
		PromptInput
		Begin, End string
	}{in, beginUserInput, endUserInput}
	var sections []string
	for _, name := range promptSections {
		var b strings.Builder
		if err := promptTemplate.ExecuteTemplate(&b, name+".tmpl", data); err != nil {
			return "", fmt.Errorf("write section %s of the prompt of agent %q: %w", name, in.AgentName, err)
		}
		if section := strings.TrimSpace(b.String()); section != "" {
			sections = append(sections, section)
		}
	}
	return strings.Join(sections, "\n\n"), nil
}
