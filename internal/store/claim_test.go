package store

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// A worker that was thought dead writes on: one text, one row, one reset.
func TestClaimFencesZombie(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		r := ref(th, "r1", 2)
		zombie := f.owner(r)
		require.Equal(f.t, 1, zombie.Claim)
		require.NoError(f.t, f.Append(f.ctx, zombie, delta(zombie, "old ")))

		heir := f.owner(r)
		require.Equal(f.t, 2, heir.Claim)
		require.NoError(f.t, f.Append(f.ctx, heir, delta(heir, "new ")))
		require.ErrorIs(f.t, f.Append(f.ctx, zombie, delta(zombie, "late")), ErrFenced)
		_, err := f.Finish(f.ctx, zombie, NewRow{Pos: 0, Message: ai(zombie.MessageID, "old late")})
		require.ErrorIs(f.t, err, ErrFenced)

		row := f.finish(heir, 0, "new text")
		require.Equal(f.t, "new text", row.Message.Content.String())

		// Now that it is complete, both are told what the row holds.
		row, err = f.Finish(f.ctx, zombie, NewRow{Pos: 0, Message: ai(zombie.MessageID, "old late")})
		require.NoError(f.t, err)
		require.Equal(f.t, "new text", row.Message.Content.String())
		require.ErrorIs(f.t, f.Append(f.ctx, heir, delta(heir, "more")), ErrFenced)
		c, err := f.Claim(f.ctx, Claim{Ref: r, MessageID: heir.MessageID})
		require.NoError(f.t, err)
		require.Equal(f.t, "new text", c.Done.Message.Content.String())

		events := f.log(th)
		require.Equal(f.t, "delta reset delta message", types(events))
		require.JSONEq(f.t, `{"message_id":"r1-2","claim":2}`, string(events[1].Data))
		require.JSONEq(f.t, `{"id":"r1-2","rev":0,"role":"ai"}`, string(events[3].Data))
		require.Equal(f.t, []int{1, 2, 2, 2}, []int{events[0].Claim, events[1].Claim, events[2].Claim, events[3].Claim})
		require.Equal(f.t, []string{"new text"}, f.viewTexts(th))
	})
}

func TestClaimUnsafe(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		for i, want := range []bool{false, true, true} {
			c, err := f.Claim(f.ctx, Claim{Ref: ref(th, "r1", 3), MessageID: "m", Unsafe: true})
			require.NoError(f.t, err)
			require.Equal(f.t, ClaimResult{Claim: i + 1, MayHaveRun: want}, c)
		}
		c, err := f.Claim(f.ctx, Claim{Ref: ref(th, "r1", 3), MessageID: "m"})
		require.NoError(f.t, err)
		require.False(f.t, c.MayHaveRun)
	})
}

// Concurrent attempts: exactly one of the finishers writes, every one is told
// the same text or is fenced.
func TestFinishRace(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		r := ref(th, "r1", 2)
		const attempts = 8
		got := make([]string, attempts)
		var wg sync.WaitGroup
		for i := range attempts {
			wg.Go(func() {
				c, err := f.Claim(f.ctx, Claim{Ref: r, MessageID: "m"})
				if err != nil || c.Done != nil {
					if c.Done != nil {
						got[i] = c.Done.Message.Content.String()
					}
					return
				}
				o := Owner{Ref: r, MessageID: "m", Claim: c.Claim}
				_ = f.Append(f.ctx, o, delta(o, "x"))
				row, err := f.Finish(f.ctx, o, NewRow{Message: ai("m", string(rune('a'+i)))})
				if err == nil {
					got[i] = row.Message.Content.String()
				}
			})
		}
		wg.Wait()
		row, err := f.GetMessage(f.ctx, th, "m")
		require.NoError(f.t, err)
		for _, text := range got {
			if text != "" {
				require.Equal(f.t, row.Message.Content.String(), text)
			}
		}
		finals := 0
		for _, e := range f.log(th) {
			if e.Type == EventMessage {
				finals++
			}
		}
		require.Equal(f.t, 1, finals)
	})
}

func TestFinishIdempotent(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		o := f.owner(ref(th, "r1", 2))
		n := NewRow{Pos: 4, Message: ai(o.MessageID, "done"), Digest: json.RawMessage(`{"goto":"end"}`)}
		first, err := f.Finish(f.ctx, o, n, NewEvent{Type: EventCustom, Data: map[string]any{"type": "note"}})
		require.NoError(f.t, err)
		again, err := f.Finish(f.ctx, o, n, NewEvent{Type: EventCustom, Data: map[string]any{"type": "note"}})
		require.NoError(f.t, err)
		require.Equal(f.t, first.Seq, again.Seq)
		require.Equal(f.t, int64(4), again.Pos)
		require.JSONEq(f.t, `{"goto":"end"}`, string(again.Digest))
		require.Equal(f.t, "custom message", types(f.log(th)))

		_, err = f.Finish(f.ctx, o, NewRow{Message: ai("other", "")})
		require.ErrorIs(f.t, err, ErrInvalid)
	})
}

func TestAppendWithoutClaim(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := f.newThread("t1")
		o := Owner{Ref: ref(th, "r1", 2), MessageID: "m", Claim: 1}
		require.ErrorIs(f.t, f.Append(f.ctx, o, delta(o, "x")), ErrFenced)
		require.ErrorIs(f.t, f.Append(f.ctx, o, NewEvent{Data: 1}), ErrInvalid)
		require.NoError(f.t, f.Append(f.ctx, o))
		require.Empty(f.t, f.log(th))
	})
}

func TestThreadGone(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		th := "t1"
		f.submit(th, "r1", "hi")
		f.start(th, "r1", 0)
		o := f.owner(ref(th, "r1", 2))
		f.commit(commitInput(ref(th, "r1", 2), 1, thread.StatusBusy))
		require.NoError(f.t, f.DeleteThread(f.ctx, th))

		_, err := f.Claim(f.ctx, Claim{Ref: o.Ref, MessageID: "m"})
		require.ErrorIs(f.t, err, ErrThreadGone)
		require.ErrorIs(f.t, f.Append(f.ctx, o, delta(o, "x")), ErrThreadGone)
		_, err = f.Finish(f.ctx, o, NewRow{Message: ai(o.MessageID, "x")})
		require.ErrorIs(f.t, err, ErrThreadGone)
		_, err = f.Commit(f.ctx, commitInput(o.Ref, 2, thread.StatusIdle), plainDigest)
		require.ErrorIs(f.t, err, ErrThreadGone)
		_, err = f.StartRun(f.ctx, StartRun{Ref: o.Ref})
		require.ErrorIs(f.t, err, ErrThreadGone)
		_, err = f.LoadHead(f.ctx, th, nil)
		require.ErrorIs(f.t, err, ErrThreadGone)
		_, err = f.GetThread(f.ctx, th)
		require.ErrorIs(f.t, err, ErrNotFound)
		require.ErrorIs(f.t, f.DeleteThread(f.ctx, th), ErrNotFound)
		for _, table := range []string{"events", "messages", "claims", "checkpoints", "runs"} {
			require.Zero(f.t, f.count(table), table)
		}
	})
}
