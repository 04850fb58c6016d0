package agent

import (
	"fmt"
	"strings"

	"deerflow/internal/thread"
)

// SkillGuide is the guide of a skill that a user called by name.
type SkillGuide struct {
	Name        string
	Description string
	Path        string // of its SKILL.md, virtual
	Text        string // the whole file
	SHA256      string // of the file, in hex
	Editable    bool   // the user may change it
}

// Block is the guide as the model reads it before the request, which is the text
// behind the name.
func (g *SkillGuide) Block(request string) thread.ContextBlock {
	if request == "" {
		request = "(Nothing more was said. Ask what the skill is wanted for, or begin as its guide says.)"
	}
	editable := "no"
	if g.Editable {
		editable = "yes"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<slash_skill_activation>\nThe user called the skill %s by name. Follow its guide for the request that comes with it.\n\n", Line(g.Name))
	fmt.Fprintf(&b, "Request: %s\nGuide: %s\nSHA-256: %s\nEditable: %s\n\n", Neutralize(request), Line(g.Path), Line(g.SHA256), editable)
	fmt.Fprintf(&b, "%s\n</slash_skill_activation>", strings.TrimSpace(Neutralize(g.Text)))
	return thread.ContextBlock{Kind: thread.ContextSkill, Text: b.String()}
}

// SkillFault is why a skill cannot be used.
type SkillFault string

// The faults. A name that no skill has is not one to tell the user: the message
// is then plain text (H07).
const (
	SkillUnknown     SkillFault = "unknown"
	SkillDisabled    SkillFault = "disabled"
	SkillUnavailable SkillFault = "unavailable" // not for this agent
	SkillUnresolved  SkillFault = "unresolved"  // it could not be found out
	SkillUnsafe      SkillFault = "unsafe"      // outside of the skills, not readable, no text
)

// SkillError tells that a skill cannot be used.
type SkillError struct {
	Name  string
	Fault SkillFault
}

// Error is for the log.
func (e *SkillError) Error() string { return fmt.Sprintf("skill %q is %s", e.Name, e.Fault) }

// Reply is what the user is told in place of an answer.
func (e *SkillError) Reply() string {
	switch e.Fault {
	case SkillDisabled:
		return fmt.Sprintf("The skill /%s is disabled. Enable it, then send the message again.", e.Name)
	case SkillUnavailable:
		return fmt.Sprintf("The skill /%s is not available to this agent.", e.Name)
	case SkillUnsafe:
		return fmt.Sprintf("The skill /%s cannot be loaded safely: its SKILL.md is missing, is no text, or lies outside of the skills.", e.Name)
	case SkillUnknown:
		return fmt.Sprintf("There is no skill /%s.", e.Name)
	case SkillUnresolved:
	}
	return fmt.Sprintf("The skill /%s cannot be looked up at the moment. Send the message again later, or without the skill.", e.Name)
}
