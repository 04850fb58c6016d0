package thread

import (
	"fmt"
	"maps"
	"slices"
)

// State is the channels of a thread beside its messages (spec 5). JSON keys are
// the channel names that clients read. It rides in every commit, so each field
// is bounded and no body stands in it.
type State struct {
	Title         string                 `json:"title,omitempty"`
	Artifacts     []string               `json:"artifacts,omitempty"` // virtual paths, in the order they were presented
	Sandbox       *SandboxRef            `json:"sandbox,omitempty"`
	ThreadData    *DirectoryRef          `json:"thread_data,omitempty"`
	Todos         []Todo                 `json:"todos,omitempty"`
	UploadedFiles []UploadedFile         `json:"uploaded_files,omitempty"` // of the newest message
	ViewedImages  map[string]ViewedImage `json:"viewed_images,omitempty"`  // by virtual path
	Promoted      *Promoted              `json:"promoted,omitempty"`
	Delegations   []Delegation           `json:"delegations,omitempty"`
	SkillContext  []SkillRef             `json:"skill_context,omitempty"`
	Summary       *SummaryRef            `json:"summary,omitempty"`
}

// SandboxRef names the sandbox that a thread works in.
type SandboxRef struct {
	ID string `json:"sandbox_id"`
	// From makes an update a move: the id of the sandbox that this one takes over
	// from, with the same files. A state never has it.
	From string `json:"moved_from,omitempty"`
}

// follows reports whether the sandbox may take the place of another one.
func (r *SandboxRef) follows(before *SandboxRef) bool {
	return before == nil || r.ID == before.ID || r.From != "" && r.From == before.ID
}

// DirectoryRef has the virtual directories of a thread.
type DirectoryRef struct {
	Workspace string `json:"workspace_path"`
	Uploads   string `json:"uploads_path"`
	Outputs   string `json:"outputs_path"`
}

// Apply merges an update through the reducers (spec 5): title, directories,
// uploaded files and summary take the last write, todos too; artifacts are an
// ordered union of which the newest stay, the sandbox fails closed when a second id comes that is no move, viewed images
// merge by path, promotions hold for one catalog, delegations and skills are
// bounded ledgers. On an error the state is unchanged.
func (s *State) Apply(u StateUpdate) error {
	if u.Sandbox != nil && !u.Sandbox.follows(s.Sandbox) {
		return fmt.Errorf("conflicting sandbox updates: the thread works in %q, an update names %q", s.Sandbox.ID, u.Sandbox.ID)
	}
	if u.Sandbox != nil {
		s.Sandbox = &SandboxRef{ID: u.Sandbox.ID}
	}
	if u.Title != nil {
		s.Title = *u.Title
	}
	if u.ThreadData != nil {
		d := *u.ThreadData
		s.ThreadData = &d
	}
	s.Artifacts = NewestPaths(union(s.Artifacts, u.Artifacts))
	if u.Todos != nil {
		s.Todos = orNil(slices.Clone(*u.Todos))
	}
	if u.UploadedFiles != nil {
		s.UploadedFiles = orNil(slices.Clone(*u.UploadedFiles))
	}
	if u.Anew.ViewedImages {
		s.ViewedImages = nil
	}
	s.ViewedImages = mergeImages(s.ViewedImages, u.ViewedImages)
	if u.Anew.Promoted {
		s.Promoted = nil
	}
	s.Promoted = mergePromoted(s.Promoted, u.Promoted)
	s.Delegations = mergeDelegations(s.Delegations, u.Delegations)
	s.SkillContext = mergeSkills(s.SkillContext, u.SkillContext)
	if u.Summary != nil {
		if s.Summary = nil; u.Summary.MessageID != "" {
			ref := *u.Summary
			s.Summary = &ref
		}
	}
	return nil
}

// Clone is a copy that shares nothing with s.
func (s State) Clone() State {
	s.Artifacts = slices.Clone(s.Artifacts)
	s.Todos = slices.Clone(s.Todos)
	s.UploadedFiles = slices.Clone(s.UploadedFiles)
	s.ViewedImages = maps.Clone(s.ViewedImages)
	s.Delegations = slices.Clone(s.Delegations)
	s.SkillContext = slices.Clone(s.SkillContext)
	if s.Sandbox != nil {
		ref := *s.Sandbox
		s.Sandbox = &ref
	}
	if s.ThreadData != nil {
		d := *s.ThreadData
		s.ThreadData = &d
	}
	if s.Promoted != nil {
		s.Promoted = &Promoted{CatalogHash: s.Promoted.CatalogHash, Names: slices.Clone(s.Promoted.Names)}
	}
	if s.Summary != nil {
		ref := *s.Summary
		s.Summary = &ref
	}
	return s
}
