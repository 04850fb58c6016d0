package thread

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// Few names make collisions, which is what reducers are about.

func draw[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

// maybe is nil half of the time.
func maybe[T any](t *rapid.T, label string, value func() T) *T {
	if !rapid.Bool().Draw(t, "has "+label) {
		return nil
	}
	v := value()
	return &v
}

func anyUpdate() *rapid.Generator[StateUpdate] {
	return rapid.Custom(func(t *rapid.T) StateUpdate {
		path := rapid.SampledFrom([]string{"/o/a", "/o/b", "/o/c", "/o/d", "/o/e"})
		u := StateUpdate{
			Title:     maybe(t, "title", func() string { return draw(t, "title", "", "one", "two") }),
			Artifacts: rapid.SliceOfN(path, 0, 4).Draw(t, "artifacts"),
			Sandbox:   maybe(t, "sandbox", func() SandboxRef { return SandboxRef{ID: draw(t, "sandbox", "local", "other")} }),
			ThreadData: maybe(t, "directories", func() DirectoryRef {
				return DirectoryRef{Workspace: draw(t, "workspace", "/w1", "/w2")}
			}),
			Summary: maybe(t, "summary", func() SummaryRef { return SummaryRef{MessageID: draw(t, "summary", "s1", "s2")} }),
			Promoted: maybe(t, "promoted", func() Promoted {
				return Promoted{CatalogHash: draw(t, "catalog", "", "h1", "h2"), Names: rapid.SliceOfN(path, 0, 3).Draw(t, "names")}
			}),
		}
		u.Todos = maybe(t, "todos", func() []Todo {
			return rapid.SliceOfN(rapid.Just(Todo{Content: draw(t, "todo", "x", "y"), Status: TodoPending}), 0, 2).Draw(t, "todos")
		})
		u.UploadedFiles = maybe(t, "uploads", func() []UploadedFile {
			return rapid.SliceOfN(rapid.Just(UploadedFile{Filename: draw(t, "file", "f", "g")}), 0, 2).Draw(t, "uploads")
		})
		u.ViewedImages = maybe(t, "images", func() map[string]ViewedImage {
			image := rapid.Custom(func(t *rapid.T) ViewedImage { return ViewedImage{Size: draw[int64](t, "size", 1, 2)} })
			return rapid.MapOfN(path, image, 0, 3).Draw(t, "images")
		})
		u.Delegations = rapid.SliceOfN(rapid.Custom(anyDelegation), 0, 8).Draw(t, "delegations")
		u.SkillContext = rapid.SliceOfN(rapid.Custom(anySkill), 0, 10).Draw(t, "skills")
		return u
	})
}

func anyDelegation(t *rapid.T) Delegation {
	return Delegation{
		ID:        fmt.Sprintf("task-%d", rapid.IntRange(0, mostDelegations+10).Draw(t, "task")),
		RunID:     draw(t, "run", "", "r1", "r2"),
		Status:    draw(t, "status", DelegationInProgress, DelegationCompleted, DelegationFailed, DelegationMaxTurns),
		CreatedAt: draw(t, "created", "", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
	}
}

func anySkill(t *rapid.T) SkillRef {
	name := fmt.Sprintf("s%d", rapid.IntRange(0, mostSkills+2).Draw(t, "skill"))
	return SkillRef{Name: name, Path: "/mnt/skills/public/" + name + "/SKILL.md", LoadedAt: draw(t, "loaded", "t1", "t2")}
}

// anyState is what updates have left; often its ledgers are full.
func anyState(t *rapid.T) State {
	var s State
	if rapid.Bool().Draw(t, "full ledgers") {
		for i := range mostDelegations {
			s.Delegations = append(s.Delegations, Delegation{ID: fmt.Sprintf("task-%d", i), Status: DelegationInProgress})
		}
		for i := range mostSkills {
			s.SkillContext = append(s.SkillContext, SkillRef{Path: fmt.Sprintf("/mnt/skills/public/s%d/SKILL.md", i)})
		}
	}
	for _, u := range rapid.SliceOfN(anyUpdate(), 0, 4).Draw(t, "history") {
		_ = s.Apply(u) // a refused update leaves a state, too
	}
	return s
}

// scribble changes everything that an update refers to.
func (u *StateUpdate) scribble() {
	for i := range u.Artifacts {
		u.Artifacts[i] = "scribbled"
	}
	for i := range u.Delegations {
		u.Delegations[i].ID = "scribbled"
	}
	for i := range u.SkillContext {
		u.SkillContext[i].Path = "scribbled"
	}
	if u.Todos != nil {
		for i := range *u.Todos {
			(*u.Todos)[i].Content = "scribbled"
		}
	}
	if u.UploadedFiles != nil {
		for i := range *u.UploadedFiles {
			(*u.UploadedFiles)[i].Filename = "scribbled"
		}
	}
	if u.ViewedImages != nil && *u.ViewedImages != nil {
		(*u.ViewedImages)["scribbled"] = ViewedImage{}
	}
	if u.Promoted != nil {
		for i := range u.Promoted.Names {
			u.Promoted.Names[i] = "scribbled"
		}
		u.Promoted.CatalogHash = "scribbled"
	}
	if u.Sandbox != nil {
		u.Sandbox.ID = "scribbled"
	}
	if u.ThreadData != nil {
		u.ThreadData.Workspace = "scribbled"
	}
	if u.Summary != nil {
		u.Summary.MessageID = "scribbled"
	}
	if u.Title != nil {
		*u.Title = "scribbled"
	}
}

// scribble does the same to a state.
func (s *State) scribble() {
	u := StateUpdate{
		Artifacts: s.Artifacts, Delegations: s.Delegations, SkillContext: s.SkillContext, Todos: &s.Todos,
		UploadedFiles: &s.UploadedFiles, ViewedImages: &s.ViewedImages, Promoted: s.Promoted, Sandbox: s.Sandbox,
		ThreadData: s.ThreadData, Summary: s.Summary,
	}
	u.scribble()
}

func pathsOf(skills []SkillRef) []string {
	paths := make([]string, 0, len(skills))
	for _, s := range skills {
		paths = append(paths, s.Path)
	}
	return paths
}

func imagePaths(s State) []string { return slices.Sorted(maps.Keys(s.ViewedImages)) }
