package agent

import (
	"fmt"
	"math"
	"slices"

	"deerflow/internal/thread"
)

const (
	// leastFit is how many tokens of a message are always shown.
	leastFit = 100
	// noteTokens is what the line costs that says what is missing.
	noteTokens = 40
)

// Fit shortens, for one request, the longest messages so that all of them
// together have at most room tokens (D01): what users and tools said, never a
// call, the summary or what the model said. The head and the tail stay, with a
// line between them that says so. Nothing is cut while all fits: the transcript
// keeps every word.
func Fit(messages []thread.Digest, room int) []Edit {
	fixed, total, sizes := 0, 0, []int(nil)
	for i := range messages {
		d := &messages[i]
		if total += Weigh(d); cuttable(d) {
			sizes = append(sizes, Weigh(d))
		} else {
			fixed += Weigh(d)
		}
	}
	if total <= room {
		return nil
	}
	limit := max(min(fitLimit(sizes, room-fixed), room/longestShare), leastFit)
	var edits []Edit
	for i := range messages {
		d := &messages[i]
		if !cuttable(d) || Weigh(d) <= limit {
			continue
		}
		keep := bytesOf(d, limit-noteTokens)
		if keep >= d.Size {
			continue
		}
		edits = append(edits, Edit{
			Op: EditCut, ID: d.ID, Keep: keep * 2 / 3, KeepTail: keep / 3,
			Text: fmt.Sprintf("\n\n[%d bytes are left out here: the whole text does not fit into the model's window. Ask for a part of it if you need more.]\n\n", d.Size-keep),
		})
	}
	return edits
}

// longestShare: where not all fits, no message is shown that takes more than
// this part of the room. It does not depend on the others, so that the message
// is the same in the requests of a run.
const longestShare = 3

// Shown are the messages with the weight that they have in a request that [Fit]
// has made fit into room.
func Shown(messages []thread.Digest, room int) []thread.Digest {
	shown := slices.Clone(messages)
	for i := range shown {
		if d := &shown[i]; cuttable(d) {
			d.Tokens = min(d.Tokens, max(room/longestShare, leastFit))
		}
	}
	return shown
}

func cuttable(d *thread.Digest) bool {
	return d.Size > 0 && (d.Role == thread.RoleTool || d.Role == thread.RoleHuman && d.Name != thread.NameSummary)
}

// fitLimit is the size to which the greater ones of sizes, which are put in
// order, have to come down so that all fit into room.
func fitLimit(sizes []int, room int) int {
	slices.Sort(sizes)
	for i, size := range sizes {
		rest := len(sizes) - i
		if size*rest > room {
			return max(room/rest, 0)
		}
		room -= size
	}
	return math.MaxInt
}

// bytesOf is how many bytes of a message have that many tokens: by its own
// density, of which a token is never less than a byte.
func bytesOf(d *thread.Digest, tokens int) int {
	tokens = max(tokens, leastFit/2)
	return min(max(d.Size*tokens/Weigh(d), tokens), 4*tokens)
}

// WeighEdits is about how many tokens the edits of a request add to it.
func WeighEdits(edits []Edit) int {
	const image = 1000
	total := 0
	for i := range edits {
		e := &edits[i]
		total += thread.EstimateTokens(e.Text) + thread.EstimateTokens(e.Tail) + image*len(e.Images)
		switch e.Op {
		case EditAppend, EditBefore, EditAfter, EditImages, EditContext:
			total += thread.TokensPerMessage
		case EditDrop, EditWrap, EditCut, EditGuard, EditCoalesce:
		}
	}
	return total
}
