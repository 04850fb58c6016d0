package thread

import (
	"maps"
	"slices"
)

// Bounds of the ledgers (spec 5).
const (
	mostDelegations = 50
	mostSkills      = 8
)

// orNil is nil for an empty list: a cleared channel is one that was never set.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// union adds what is new, in the order in which it was first seen. It leaves the
// lists as they are.
func union(old, added []string) []string {
	old = slices.Clip(old)
	for _, item := range added {
		if !slices.Contains(old, item) {
			old = append(old, item)
		}
	}
	return old
}

// mergeImages merges by path; an empty update clears.
func mergeImages(old map[string]ViewedImage, update *map[string]ViewedImage) map[string]ViewedImage {
	if update == nil {
		return old
	}
	if len(*update) == 0 {
		return nil
	}
	merged := make(map[string]ViewedImage, len(old)+len(*update))
	maps.Copy(merged, old)
	maps.Copy(merged, *update)
	return merged
}

// named reports whether the promotion belongs to a catalog.
func (p *Promoted) named() bool { return p != nil && p.CatalogHash != "" }

// mergePromoted joins names of one catalog. Another catalog drops the old ones:
// a tool of the same name may be another tool there.
func mergePromoted(old, update *Promoted) *Promoted {
	if !update.named() {
		return old
	}
	var names []string
	if old != nil && old.CatalogHash == update.CatalogHash {
		names = slices.Clone(old.Names)
	}
	return &Promoted{CatalogHash: update.CatalogHash, Names: union(names, update.Names)}
}

// terminal reports whether a delegation in this status is over.
func (s DelegationStatus) terminal() bool { return s != DelegationInProgress }

// mergeDelegations updates by id in the order first seen. A task that is over
// does not go back to work; when and in which run it began stays. The newest
// ones are kept, counted at each entry, so that two updates may be joined.
func mergeDelegations(old, update []Delegation) []Delegation {
	if len(update) == 0 {
		return old
	}
	merged := slices.Clone(old)
	for _, d := range update {
		i := slices.IndexFunc(merged, func(m Delegation) bool { return m.ID == d.ID })
		if i < 0 {
			merged = append(merged, d)
			merged = merged[max(0, len(merged)-mostDelegations):]
			continue
		}
		was := merged[i]
		if was.Status.terminal() && !d.Status.terminal() {
			continue
		}
		if was.CreatedAt != "" {
			d.CreatedAt = was.CreatedAt
		}
		if was.RunID != "" {
			d.RunID = was.RunID
		}
		merged[i] = d
	}
	return merged
}

// mergeSkills keeps the skills that were read last: one that is read again moves
// to the end.
func mergeSkills(old, update []SkillRef) []SkillRef {
	if len(update) == 0 {
		return old
	}
	merged := slices.Clone(old)
	for _, skill := range update {
		merged = slices.DeleteFunc(merged, func(s SkillRef) bool { return s.Path == skill.Path })
		merged = append(merged, skill)
	}
	return merged[max(0, len(merged)-mostSkills):]
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
