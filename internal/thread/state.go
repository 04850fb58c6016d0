package thread

import (
	"fmt"
	"slices"
)

// State is the channels of a thread beside its messages. JSON keys are the
// channel names that clients read.
type State struct {
	Title      string        `json:"title,omitempty"`
	Artifacts  []string      `json:"artifacts,omitempty"` // virtual paths, in the order they were presented
	Sandbox    *SandboxRef   `json:"sandbox,omitempty"`
	ThreadData *DirectoryRef `json:"thread_data,omitempty"`
}

// SandboxRef names the sandbox that a thread works in.
type SandboxRef struct {
	ID string `json:"sandbox_id"`
}

// DirectoryRef has the virtual directories of a thread.
type DirectoryRef struct {
	Workspace string `json:"workspace_path"`
	Uploads   string `json:"uploads_path"`
	Outputs   string `json:"outputs_path"`
}

// StateUpdate is a change to the state: nil and empty fields change nothing.
type StateUpdate struct {
	Title      *string       `json:"title,omitempty"`
	Artifacts  []string      `json:"artifacts,omitempty"`
	Sandbox    *SandboxRef   `json:"sandbox,omitempty"`
	ThreadData *DirectoryRef `json:"thread_data,omitempty"`
}

// IsZero reports whether the update changes nothing.
func (u StateUpdate) IsZero() bool {
	return u.Title == nil && len(u.Artifacts) == 0 && u.Sandbox == nil && u.ThreadData == nil
}

// MaxArtifacts is how many bytes of paths a thread keeps: they are part of every
// checkpoint.
const MaxArtifacts = 8 << 10

// NewestPaths gives the last of the paths, in their order, that have no more than
// [MaxArtifacts] bytes together.
func NewestPaths(paths []string) []string {
	from, size := len(paths), 0
	for from > 0 && size+len(paths[from-1]) <= MaxArtifacts {
		from--
		size += len(paths[from])
	}
	return paths[from:]
}

// Apply merges an update through the reducers: the title and the directories
// take the last write, artifacts are an ordered union of which the newest stay, the sandbox fails closed
// when a second id comes. On an error the state is unchanged.
func (s *State) Apply(u StateUpdate) error {
	if u.Sandbox != nil && s.Sandbox != nil && u.Sandbox.ID != s.Sandbox.ID {
		return fmt.Errorf("conflicting sandbox updates: the thread works in %q, an update names %q", s.Sandbox.ID, u.Sandbox.ID)
	}
	if u.Sandbox != nil && s.Sandbox == nil {
		s.Sandbox = &SandboxRef{ID: u.Sandbox.ID}
	}
	if u.Title != nil {
		s.Title = *u.Title
	}
	if u.ThreadData != nil {
		d := *u.ThreadData
		s.ThreadData = &d
	}
	for _, path := range u.Artifacts {
		if !slices.Contains(s.Artifacts, path) {
			s.Artifacts = append(s.Artifacts, path)
		}
	}
	s.Artifacts = NewestPaths(s.Artifacts)
	return nil
}

// Clone is a copy that shares nothing with s.
func (s State) Clone() State {
	s.Artifacts = slices.Clone(s.Artifacts)
	if s.Sandbox != nil {
		ref := *s.Sandbox
		s.Sandbox = &ref
	}
	if s.ThreadData != nil {
		d := *s.ThreadData
		s.ThreadData = &d
	}
	return s
}
