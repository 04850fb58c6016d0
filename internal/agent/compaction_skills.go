package agent

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"deerflow/internal/thread"
)

// SkillsRoot is the virtual directory of skills.
const SkillsRoot = "/mnt/skills"

// IsSkillGuide reports whether a virtual path is the guide of a skill.
func IsSkillGuide(file string) bool {
	file = path.Clean(file)
	return path.Base(file) == "SKILL.md" && strings.HasPrefix(file, SkillsRoot+"/")
}

// rescueSkills marks the guides that were read last, each with the call that
// asked for it: they are the instructions of the work at hand. A message with
// several calls stays with all results or not at all.
func rescueSkills(body []thread.Digest, stays []bool, in CompactionInput) {
	rule := in.Rule
	room := rule.SkillTokens
	if in.Most > 0 {
		room = min(room, in.Most-weight(body[len(stays):]))
	}
	seen := map[string]bool{}
	for i := len(stays) - 1; i >= 0 && len(seen) < rule.SkillCount; i-- {
		end := batchEnd(body, i)
		if end < 0 || end > len(stays) || stays[i] {
			continue
		}
		guides := guidesOf(body[i:end], rule.ReadTools)
		guides = slices.DeleteFunc(guides, func(g string) bool { return seen[g] })
		size := weight(body[i:end])
		if len(guides) == 0 || size > rule.SkillTokensEach*len(guides) || size > room || len(seen)+len(guides) > rule.SkillCount {
			continue
		}
		room -= size
		for _, g := range guides {
			seen[g] = true
		}
		for k := i; k < end; k++ {
			stays[k] = true
		}
	}
}

// batchEnd is where the results of the calls of message i end; -1 when it has
// no calls, or when not all of them are answered right behind it.
func batchEnd(body []thread.Digest, i int) int {
	if len(body[i].Calls) == 0 {
		return -1
	}
	end := i + 1
	for end < len(body) && body[end].Role == thread.RoleTool {
		end++
	}
	for _, c := range body[i].Calls {
		if !slices.ContainsFunc(body[i+1:end], func(d thread.Digest) bool { return d.CallID == c.ID }) {
			return -1
		}
	}
	return end
}

// guidesOf are the skill guides that a batch shows.
func guidesOf(batch []thread.Digest, readTools []string) []string {
	var guides []string
	for _, c := range batch[0].Calls {
		if !slices.Contains(readTools, c.Name) {
			continue
		}
		at := slices.IndexFunc(batch, func(d thread.Digest) bool { return d.CallID == c.ID })
		if at < 0 || batch[at].Error {
			continue
		}
		file := pathOf(c.Args)
		if mark := batch[at].Read; mark != nil {
			file = mark.Path
		}
		if IsSkillGuide(file) && !slices.Contains(guides, path.Clean(file)) {
			guides = append(guides, path.Clean(file))
		}
	}
	return guides
}

// pathOf is the file that a call of a read tool names.
func pathOf(args json.RawMessage) string {
	var named struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(args, &named) != nil {
		return ""
	}
	return named.Path
}
