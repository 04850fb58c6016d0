package thread

import (
	"encoding/json"
	"maps"
	"slices"
)

// StateUpdate is a change to the state: nil and empty fields change nothing. A
// pointer to an empty list or map clears.
type StateUpdate struct {
	Title         *string                 `json:"title,omitempty"`
	Artifacts     []string                `json:"artifacts,omitempty"`
	Sandbox       *SandboxRef             `json:"sandbox,omitempty"`
	ThreadData    *DirectoryRef           `json:"thread_data,omitempty"`
	Todos         *[]Todo                 `json:"todos,omitempty"`
	UploadedFiles *[]UploadedFile         `json:"uploaded_files,omitempty"`
	ViewedImages  *map[string]ViewedImage `json:"viewed_images,omitempty"`
	Promoted      *Promoted               `json:"promoted,omitempty"`
	Delegations   []Delegation            `json:"delegations,omitempty"`
	SkillContext  []SkillRef              `json:"skill_context,omitempty"`
	Summary       *SummaryRef             `json:"summary,omitempty"`

	// Anew is what a merged update has to remember of the earlier ones.
	Anew Anew `json:"anew,omitzero"`
}

// Anew names the channels whose old content goes before the update's own comes:
// what a merge of a clearing update and a later one does.
type Anew struct {
	ViewedImages bool `json:"viewed_images,omitempty"`
	Promoted     bool `json:"promoted,omitempty"`
}

// IsZero reports whether the update changes nothing.
func (u StateUpdate) IsZero() bool {
	return u.Title == nil && len(u.Artifacts) == 0 && u.Sandbox == nil && u.ThreadData == nil &&
		u.Todos == nil && u.UploadedFiles == nil && u.ViewedImages == nil && u.Promoted == nil &&
		len(u.Delegations) == 0 && len(u.SkillContext) == 0 && u.Summary == nil
}

// MarshalJSON writes a pointer to a nil list or map as an empty one: as null it
// would be read back as no change.
func (u StateUpdate) MarshalJSON() ([]byte, error) {
	type plain StateUpdate
	p := plain(u)
	if p.Todos != nil && *p.Todos == nil {
		p.Todos = &[]Todo{}
	}
	if p.UploadedFiles != nil && *p.UploadedFiles == nil {
		p.UploadedFiles = &[]UploadedFile{}
	}
	if p.ViewedImages != nil && *p.ViewedImages == nil {
		p.ViewedImages = &map[string]ViewedImage{}
	}
	return json.Marshal(p)
}

// Merge adds a later update to an earlier one: applying the result is applying
// both, one after the other, to a state that takes both (but for artifacts beyond
// [MaxArtifacts]). It changes neither.
func (u StateUpdate) Merge(later StateUpdate) StateUpdate {
	if later.Title != nil {
		u.Title = later.Title
	}
	if u.Sandbox == nil { // a state that has one takes no other
		u.Sandbox = later.Sandbox
	}
	if later.ThreadData != nil {
		u.ThreadData = later.ThreadData
	}
	if later.Todos != nil {
		u.Todos = later.Todos
	}
	if later.UploadedFiles != nil {
		u.UploadedFiles = later.UploadedFiles
	}
	if later.Summary != nil {
		u.Summary = later.Summary
	}
	u.Artifacts = NewestPaths(union(u.Artifacts, later.Artifacts))
	u.Delegations = slices.Concat(u.Delegations, later.Delegations)
	u.SkillContext = mergeSkills(nil, slices.Concat(u.SkillContext, later.SkillContext))
	u.mergeImages(later)
	u.mergePromoted(later)
	return u
}

// mergeImages joins what two updates say of the images. Images that come after a
// clearing begin anew.
func (u *StateUpdate) mergeImages(later StateUpdate) {
	switch {
	case later.ViewedImages == nil:
	case u.ViewedImages == nil || later.Anew.ViewedImages || len(*later.ViewedImages) == 0:
		u.ViewedImages, u.Anew.ViewedImages = later.ViewedImages, later.Anew.ViewedImages
	case len(*u.ViewedImages) == 0:
		u.ViewedImages, u.Anew.ViewedImages = later.ViewedImages, true
	default:
		joined := maps.Clone(*u.ViewedImages)
		maps.Copy(joined, *later.ViewedImages)
		u.ViewedImages = &joined
	}
}

// mergePromoted joins what two updates say of promoted tools. The names of
// another catalog begin anew, whatever the state has by then.
func (u *StateUpdate) mergePromoted(later StateUpdate) {
	switch {
	case !later.Promoted.named():
	case !u.Promoted.named() || later.Anew.Promoted:
		u.Promoted, u.Anew.Promoted = later.Promoted, later.Anew.Promoted
	default:
		u.Anew.Promoted = u.Anew.Promoted || u.Promoted.CatalogHash != later.Promoted.CatalogHash
		u.Promoted = mergePromoted(u.Promoted, later.Promoted)
	}
}
