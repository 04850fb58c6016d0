package thread

import "maps"

// Merge adds a later update to an earlier one: applying the result is applying
// both, one after the other.
func (u StateUpdate) Merge(later StateUpdate) StateUpdate {
	if later.Title != nil {
		u.Title = later.Title
	}
	if later.Sandbox != nil {
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
	u.Artifacts = NewestPaths(append(u.Artifacts, later.Artifacts...))
	u.Delegations = append(u.Delegations, later.Delegations...)
	u.SkillContext = append(u.SkillContext, later.SkillContext...)
	u.Promoted = mergePromoted(u.Promoted, later.Promoted)
	if later.ViewedImages != nil {
		images := maps.Clone(*later.ViewedImages)
		if u.ViewedImages != nil && len(*u.ViewedImages) > 0 && len(images) > 0 {
			images = mergeImages(*u.ViewedImages, later.ViewedImages)
		}
		u.ViewedImages = &images
	}
	return u
}
