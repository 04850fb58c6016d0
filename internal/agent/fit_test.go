package agent

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/thread"
)

// Whatever was said, a request comes down to its room, as far as its messages
// may be cut, and each of them keeps its beginning and its end.
func TestFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var messages []thread.Message
		var digests []thread.Digest
		for i := range rapid.IntRange(1, 8).Draw(t, "messages") {
			text := strings.Repeat(rapid.SampledFrom([]string{"word ", "слово ", "字", "é"}).Draw(t, "text"), rapid.IntRange(1, 5000).Draw(t, "times"))
			m := thread.Human(fmt.Sprint("m", i), text)
			if rapid.Bool().Draw(t, "tool") {
				m = thread.ToolResult(m.ID, thread.ToolCall{ID: "c"}, thread.ToolSuccess, text)
			}
			messages, digests = append(messages, m), append(digests, m.Digest(int64(i)))
		}
		room := rapid.IntRange(1500, 30_000).Draw(t, "room")
		edits := Fit(digests, room)
		out := applied(t, messages, edits...)
		total, before := 0, 0
		for i := range out {
			before += messages[i].Weight()
			total += out[i].Weight()
			was, is := messages[i].Content.String(), out[i].Content.String()
			require.True(t, utf8.ValidString(is))
			require.LessOrEqual(t, len(is), len(was)+200)
			require.Equal(t, was[:1], is[:1])
			require.Equal(t, was[len(was)-1:], is[len(is)-1:])
		}
		require.LessOrEqual(t, total, max(room, len(messages)*2*leastFit))
		if before <= room {
			require.Empty(t, edits, "all fits")
		}
	})
}

func TestFitLeavesCallsAndSummaries(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 10_000)
	ai := thread.Message{ID: "a", Role: thread.RoleAI, Content: thread.Text(long)}
	s := thread.Summary("s", long)
	h := thread.Human("h", long)
	edits := Fit([]thread.Digest{s.Digest(0), ai.Digest(1), h.Digest(2)}, 100)
	require.Len(t, edits, 1)
	require.Equal(t, "h", edits[0].ID)
}
