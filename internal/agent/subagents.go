package agent

import "deerflow/internal/thread"

// Bounds of the sub-agents of a run (spec 4.27), and what holds when nothing is
// configured.
const (
	defaultConcurrent, mostConcurrent = 3, 4
	defaultTotal, mostTotal           = 6, 50
)

// Clamped is the rule within its bounds: what is enforced, and what the prompt
// has to say.
func (r SubagentRule) Clamped() SubagentRule {
	return SubagentRule{
		MaxConcurrent: clamp(r.MaxConcurrent, defaultConcurrent, mostConcurrent),
		MaxTotal:      clamp(r.MaxTotal, defaultTotal, mostTotal),
	}
}

// clamp gives n between 1 and most; 0 is not set.
func clamp(n, unset, most int) int {
	if n == 0 {
		return unset
	}
	return min(max(n, 1), most)
}

// Remaining is how many tasks a run may still delegate. Entries of earlier runs
// do not count; without a run id all do.
func (r SubagentRule) Remaining(ledger []thread.Delegation, run string) int {
	used := 0
	for _, d := range ledger {
		if run == "" || d.RunID == run {
			used++
		}
	}
	return max(r.MaxTotal-used, 0)
}
