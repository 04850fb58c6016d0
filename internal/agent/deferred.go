package agent

import (
	"slices"

	"deerflow/internal/thread"
)

// Hidden are the deferred tools that may not be called yet: all but the promoted
// ones. A promotion counts only for the catalog that it was made in, since a tool
// of the same name may be another one in the next.
func (r *DeferredRule) Hidden(p *thread.Promoted) []string {
	var hidden []string
	for _, name := range r.Names {
		if p == nil || p.CatalogHash != r.CatalogHash || !slices.Contains(p.Names, name) {
			hidden = append(hidden, name)
		}
	}
	return hidden
}
