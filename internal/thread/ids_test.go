package thread

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCheckpointIDsSortByTimeThenCounter(t *testing.T) {
	t.Parallel()
	moment := rapid.Int64Range(0, 1<<48-1)
	rapid.Check(t, func(t *rapid.T) {
		ms := moment.Draw(t, "ms")
		salt := rapid.Uint64().Draw(t, "salt")
		counter := rapid.Uint32Range(0, 1<<32-2).Draw(t, "counter")
		id := CheckpointID(time.UnixMilli(ms), counter, salt)

		parsed, err := uuid.Parse(id)
		require.NoError(t, err)
		require.Equal(t, uuid.Version(7), parsed.Version())
		require.Equal(t, uuid.RFC4122, parsed.Variant())
		require.Equal(t, id, parsed.String(), "it is written as others write UUIDs")

		later := rapid.Uint32Range(counter+1, 1<<32-1).Draw(t, "later counter")
		require.Less(t, id, CheckpointID(time.UnixMilli(ms), later, salt), "in the same millisecond the counter decides")
		if ms < 1<<48-1 {
			next := rapid.Int64Range(ms+1, 1<<48-1).Draw(t, "later ms")
			require.Less(t, id, CheckpointID(time.UnixMilli(next), rapid.Uint32().Draw(t, "any counter"), salt), "time comes first")
		}
	})
}

func TestCheckpointIDsAtTheEdges(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	for _, n := range []uint32{0, 1, 4095, 4096, 1<<20 - 1, 1 << 20, 1<<32 - 2} {
		require.Less(t, CheckpointID(at, n, 7), CheckpointID(at, n+1, 7), "counter %d and the next", n)
	}
	require.Equal(t, "018bcfe5-6800-7000-8000-140000000000", CheckpointID(at, 5, 7), "it comes from its inputs alone")
	require.NotEqual(t, CheckpointID(at, 5, 7<<60), CheckpointID(at, 5, 8<<60), "two threads do not share ids")
	_, err := uuid.Parse(CheckpointID(time.Time{}, 0, 0))
	require.NoError(t, err, "a time before 1970 counts as 1970")
}

func TestValidID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "A-b_9", "019a2f3c-0000-7000-8000-000000000000", strings.Repeat("x", 64)} {
		require.True(t, ValidID(id), id)
	}
	for _, id := range []string{"", ".", "..", "a/b", `a\b`, "a b", "a\n", "é", "a.b", "a\x00", "%2e", strings.Repeat("x", 65)} {
		require.False(t, ValidID(id), "%q", id)
	}
}

func TestNamesOfThings(t *testing.T) {
	t.Parallel()
	require.Equal(t, "thread/t1", WorkflowID("t1"))
	require.Equal(t, "r1-12", MessageID("r1", 12))
	require.Equal(t, "clarification:call_1", ClarificationID("call_1"))
	require.NotEqual(t, MessageID("r", 11), MessageID("r1", 1), "a run and a step do not run together")
}
