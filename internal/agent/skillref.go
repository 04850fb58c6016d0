package agent

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deerflow/internal/thread"
)

// maxSkillDescription is how many characters of a description a reference
// keeps.
const maxSkillDescription = 500

// SkillRead is the reference to the skill whose guide a successful call of a
// read tool showed; nil when it showed none. When it was loaded is left to the
// caller.
func SkillRead(tool string, args json.RawMessage, text string, readTools []string) *thread.SkillRef {
	file := pathOf(args)
	if !slices.Contains(readTools, tool) || !IsSkillGuide(file) {
		return nil
	}
	file = path.Clean(file)
	var head struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		matter, _, _ := strings.Cut(rest, "\n---")
		if yaml.Unmarshal([]byte(matter), &head) != nil {
			head.Name, head.Description = "", ""
		}
	}
	ref := &thread.SkillRef{Name: head.Name, Path: file, Description: bounded(strings.Join(strings.Fields(head.Description), " "), maxSkillDescription)}
	if ref.Name == "" {
		ref.Name = path.Base(path.Dir(file))
	}
	return ref
}
