package stream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/store"
)

func TestHubKeepsOnlyWhatIsRead(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	h.Publish("t1", l.add(3))
	require.Empty(t, h.threads, "nobody reads")
	a, b := h.Subscribe("t1"), h.Subscribe("t1")
	h.Publish("t1", l.add(3))
	h.Publish("t2", []store.Event{{Seq: 1}})
	require.Len(t, h.threads, 1)
	events, ok := a.after(4)
	require.True(t, ok)
	require.Equal(t, []int64{5, 6}, seqs(events))
	a.Close()
	a.Close()
	_, ok = b.after(3)
	require.True(t, ok)
	b.Close()
	require.Empty(t, h.threads)
	_, ok = b.after(3)
	require.False(t, ok)
}

func TestSubscriptionAfter(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	sub := h.Subscribe("t1")
	defer sub.Close()
	_, ok := sub.after(0)
	require.False(t, ok, "nothing is known")
	l.add(4)
	h.Publish("t1", l.add(2)) // 5, 6
	for seq, want := range map[int64]struct {
		ok   bool
		seqs []int64
	}{
		2: {false, nil}, 3: {false, nil}, 4: {true, []int64{5, 6}}, 5: {true, []int64{6}}, 6: {true, nil}, 7: {true, nil},
	} {
		events, ok := sub.after(seq)
		require.Equal(t, want.ok, ok, seq)
		require.Equal(t, want.seqs, seqs(events), seq)
	}
	h.Publish("t1", l.events[3:5]) // again, and older
	events, _ := sub.after(4)
	require.Equal(t, []int64{5, 6}, seqs(events))
	l.add(1)
	h.Publish("t1", l.add(1)) // 8: another process wrote 7
	_, ok = sub.after(6)
	require.False(t, ok)
	events, ok = sub.after(7)
	require.True(t, ok)
	require.Equal(t, []int64{8}, seqs(events))
	h.Publish("t1", nil)
	_, ok = sub.after(8)
	require.False(t, ok, "another process wrote: only the table knows")
}

func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	sub := h.Subscribe("t1")
	defer sub.Close()
	for range 40 {
		h.Publish("t1", l.add(100))
	}
	ring := h.threads["t1"]
	require.Len(t, ring.events, ringEvents)
	require.Equal(t, int64(4000), ring.events[ringEvents-1].Seq)

	big := make([]byte, ringBytes/2)
	for range 5 {
		events := l.add(1)
		events[0].Data = big
		h.Publish("t1", events)
	}
	require.LessOrEqual(t, ring.bytes, ringBytes)
	require.Len(t, ring.events, 2)
	events := l.add(1)
	events[0].Data = make([]byte, ringBytes+1)
	h.Publish("t1", events)
	require.Empty(t, ring.events)
	require.Zero(t, ring.bytes)
}

// E18: a reader that sleeps holds up nobody, and costs no memory.
func TestSlowReaderNeverBlocks(t *testing.T) {
	t.Parallel()
	h, l := New(), &table{}
	slow := newReader(t, l, h, "t1", 0)
	h.Publish("t1", l.add(1))
	_, err := slow.Next(soon(t))
	require.NoError(t, err)
	begin := time.Now()
	for range 20_000 {
		h.Publish("t1", l.add(1))
	}
	require.Less(t, time.Since(begin), 10*time.Second)
	require.LessOrEqual(t, len(h.threads["t1"].events), ringEvents)
	require.NoError(t, readTo(soon(t), slow, 1, 20_001))
}
