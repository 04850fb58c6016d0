package agent

import (
	"slices"

	"deerflow/internal/thread"
)

// CompactionInput is what a compaction is planned by.
type CompactionInput struct {
	// Messages are what the model reads. The first may be the summary so far.
	Messages []thread.Digest
	// Compacted is what the compaction before left.
	Compacted *thread.Compacted
	Keep      Measure
	Rule      *SummarizationRule // of skill guides; nil rescues none
	Window    int                // tokens, for a fraction
	// Most bounds the tokens of what stays, the summary aside; 0 does not.
	Most int
	// Least keeps nothing but the last exchange and the question.
	Least bool
}

// Compaction says what becomes of a transcript: Old is summarised together with
// the summary at Previous, the rest stays word for word.
type Compaction struct {
	Previous *int64
	Old      thread.Cursor
	Cut      int64   // everything in view from here on stays
	Rescued  []int64 // positions before Cut that stay

	Removed   int // messages in Old
	Preserved int // messages that stay
	Gained    int // tokens of Old
	Kept      int // tokens of what stays
}

// PlanCompaction decides what to summarise. The cut falls on a safe edge: a
// call and its results stay together (D07). The newest message of the user is
// kept word for word (D06), skill guides that were read lately are, too. It
// reports false when there is nothing to summarise.
func PlanCompaction(in CompactionInput) (Compaction, bool) {
	previous, body := splitSummary(in.Messages)
	cut := cutAt(body, in)
	if cut <= 0 {
		return Compaction{}, false
	}
	out := Compaction{Previous: previous, Cut: body[len(body)-1].Pos + 1}
	if cut < len(body) {
		out.Cut = body[cut].Pos
	}
	stays := rescue(body, cut, in)
	if in.Compacted != nil {
		// What was compacted before must not come into view again.
		out.Cut = max(out.Cut, in.Compacted.Cut)
	}
	for i := range body {
		d := &body[i]
		if i < cut && !stays[i] {
			out.Old.Extend(d.Pos)
			out.Removed++
			out.Gained += Weigh(d)
			continue
		}
		out.Preserved++
		out.Kept += Weigh(d)
		if d.Pos < out.Cut {
			out.Rescued = append(out.Rescued, d.Pos)
		}
	}
	return out, out.Removed > 0
}

// Weigh is about how many tokens a message has in a request; one whose digest
// is of an older version counts by its frame.
func Weigh(d *thread.Digest) int { return max(d.Tokens, thread.TokensPerMessage) }

// splitSummary takes a summary off the front.
func splitSummary(messages []thread.Digest) (previous *int64, body []thread.Digest) {
	if len(messages) == 0 || messages[0].Name != thread.NameSummary || messages[0].Role != thread.RoleHuman {
		return nil, messages
	}
	return &messages[0].Pos, messages[1:]
}

// cutAt is the index of the first message that stays.
func cutAt(body []thread.Digest, in CompactionInput) int {
	last := lastExchange(body)
	if in.Least {
		return last
	}
	cut := min(keepFrom(body, in), len(body))
	if in.Most > 0 {
		for kept := weight(body[cut:]); cut < last && kept > in.Most; cut++ {
			kept -= Weigh(&body[cut])
		}
		cut = forward(body, cut)
	}
	return min(back(body, cut), last)
}

// keepFrom is where the kept part begins by the configured measure.
func keepFrom(body []thread.Digest, in CompactionInput) int {
	most := int(in.Keep.Value)
	switch in.Keep.Type {
	case MeasureFraction:
		most = int(in.Keep.Value * float64(in.Window))
	case MeasureTokens:
	default:
		return max(len(body)-most, 0)
	}
	cut, kept := len(body), 0
	for cut > 0 {
		if kept += Weigh(&body[cut-1]); kept > most {
			break
		}
		cut--
	}
	return cut
}

// back moves a cut that falls among results to the message that asked for them;
// one whose asker is not there moves behind them.
func back(body []thread.Digest, cut int) int {
	if cut >= len(body) || body[cut].Role != thread.RoleTool {
		return cut
	}
	ids := map[string]bool{}
	for i := cut; i < len(body) && body[i].Role == thread.RoleTool; i++ {
		ids[body[i].CallID] = true
	}
	for i := cut - 1; i >= 0; i-- {
		for _, c := range body[i].Calls {
			if ids[c.ID] {
				return i
			}
		}
		if body[i].Role != thread.RoleTool {
			break
		}
	}
	return forward(body, cut)
}

// forward moves a cut that falls among results behind them.
func forward(body []thread.Digest, cut int) int {
	for cut < len(body) && body[cut].Role == thread.RoleTool {
		cut++
	}
	return cut
}

// lastExchange is where the last message that is no result stands.
func lastExchange(body []thread.Digest) int {
	for i := len(body) - 1; i >= 0; i-- {
		if body[i].Role != thread.RoleTool {
			return i
		}
	}
	return 0
}

func weight(body []thread.Digest) int {
	total := 0
	for i := range body {
		total += Weigh(&body[i])
	}
	return total
}

// rescue marks the messages before the cut that stay: the newest one of the
// user, and skill guides.
func rescue(body []thread.Digest, cut int, in CompactionInput) []bool {
	stays := make([]bool, cut)
	asked := slices.IndexFunc(body[cut:], func(d thread.Digest) bool { return d.UserText() }) >= 0
	for i := cut - 1; i >= 0 && !asked; i-- {
		if body[i].UserText() {
			stays[i], asked = true, true
		}
	}
	if in.Rule != nil && !in.Least {
		rescueSkills(body, stays, in)
	}
	return stays
}
