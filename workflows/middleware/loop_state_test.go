package middleware

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// restored is a LoopDetection of another life: made anew, given what the old one
// saved.
func restored(t require.TestingT, l *LoopDetection, s agent.LoopSettings) *LoopDetection {
	saved, err := l.Save(nil)
	require.NoError(t, err)
	next := NewLoopDetection(nil, s)
	next.kept = l.kept
	if saved != nil {
		require.NoError(t, next.Restore(nil, saved))
	}
	return next
}

func sameState(t require.TestingT, want, got *LoopDetection) {
	require.Empty(t, cmp.Diff(want.state, got.state, cmp.AllowUnexported(loopState{}, loopWarning{}), cmpopts.EquateEmpty()))
}

// anyMessages draws messages with a few kinds of calls, so that loops come up.
func anyMessages() *rapid.Generator[[][]thread.CallDigest] {
	kinds := rapid.SampledFrom([]string{"ls", "read_file", "bash", "web_search"})
	call := rapid.Custom(func(t *rapid.T) thread.CallDigest {
		return called(kinds.Draw(t, "tool"), rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "args"))
	})
	message := rapid.SliceOfN(call, 0, 3)
	repeated := rapid.Custom(func(t *rapid.T) [][]thread.CallDigest {
		m := message.Draw(t, "message")
		return slices.Repeat([][]thread.CallDigest{m}, rapid.IntRange(1, 4).Draw(t, "times"))
	})
	return rapid.Custom(func(t *rapid.T) [][]thread.CallDigest {
		return slices.Concat(rapid.SliceOfN(repeated, 0, 25).Draw(t, "messages")...)
	})
}

// C05: the counters of a loop are carried whole, wherever it is interrupted.
func TestARestoredLoopDetectionGoesOnAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := agent.LoopSettings{
			Enabled: true, Warn: rapid.IntRange(1, 4).Draw(t, "warn"), Hard: rapid.IntRange(4, 8).Draw(t, "hard"), Window: rapid.IntRange(1, 25).Draw(t, "window"),
			FreqWarn: rapid.IntRange(1, 8).Draw(t, "freq warn"), FreqHard: rapid.IntRange(8, 60).Draw(t, "freq hard"),
		}
		if rapid.Bool().Draw(t, "override") {
			s.FreqOverrides = map[string]agent.FreqLimit{"bash": {Warn: 2, Hard: 90}}
		}
		build := NewLoopDetection
		if rapid.Bool().Draw(t, "rounds") {
			build = NewCyclicLoopDetection
		}
		steady, changing := build(nil, s), build(nil, s)
		for i, calls := range anyMessages().Draw(t, "messages") {
			if rapid.Bool().Draw(t, "interrupted") {
				changing = restored(t, changing, s)
			}
			warning, stop := turn(t, steady, calls...)
			warningAgain, stopAgain := turn(t, changing, calls...)
			require.Equal(t, warning, warningAgain, "message %d", i)
			require.Equal(t, stop, stopAgain, "message %d", i)
			sameState(t, steady, restored(t, steady, s))
			if stop != "" {
				break
			}
		}
	})
}

// mostSaved is what the state may add to every commit, in bytes.
const mostSaved = 700

func TestTheSavedStateStaysSmall(t *testing.T) {
	t.Parallel()
	s := defaultLoop()
	name := func(i int) string { return fmt.Sprintf("%d_%s", i, strings.Repeat("x", 64))[:64] }
	largest := 0
	check := func(t require.TestingT, l *LoopDetection) {
		saved, err := l.Save(nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(saved), mostSaved, "%s", saved)
		largest = max(largest, len(saved))
		sameState(t, l, restored(t, l, s))
	}

	// One message in which four tools reach the limit, and fifty others follow.
	l := NewLoopDetection(nil, s)
	for i := range 40 {
		turn(t, l, called("ls", fmt.Sprint(i%13)), called("grep", fmt.Sprint(i)))
	}
	var calls []thread.CallDigest
	for tool := range 4 {
		for i := range 30 {
			calls = append(calls, called(name(tool), fmt.Sprint(i)))
		}
	}
	for others := range 51 {
		check(t, l)
		more := slices.Clone(calls)
		for i := range others {
			more = append(more, called(name(100+i), "x"))
		}
		l = restored(t, l, s)
		turn(t, l, more...)
		check(t, l)
		turn(t, l)
	}
	t.Logf("largest state: %d bytes", largest)

	// Names that no tool can have.
	l = NewLoopDetection(nil, s)
	calls = nil
	for n, character := range []string{"<", "世", "\x00", "\""} {
		for i := range 30 {
			calls = append(calls, called(fmt.Sprint(n, strings.Repeat(character, 64)), fmt.Sprint(i)))
		}
	}
	turn(t, l, calls...)
	require.Len(t, l.state.pending, 4)
	check(t, l)

	rapid.Check(t, func(t *rapid.T) {
		l := NewLoopDetection(nil, s)
		tools := rapid.IntRange(1, 70).Draw(t, "tools")
		for i := range rapid.IntRange(1, 60).Draw(t, "messages") {
			var calls []thread.CallDigest
			for range rapid.IntRange(1, 4).Draw(t, "calls") {
				calls = append(calls, called(name(rapid.IntRange(0, tools-1).Draw(t, "tool")), fmt.Sprint(i%rapid.IntRange(1, 20).Draw(t, "kinds"))))
			}
			if _, stop := turn(t, l, calls...); stop != "" {
				break
			}
			check(t, l)
		}
	})
}

func TestTheUsualStateIsSmaller(t *testing.T) {
	t.Parallel()
	l := NewLoopDetection(nil, defaultLoop())
	for i := range 200 {
		turn(t, l, called([]string{"read_file", "bash", "write_file", "web_search", "grep"}[i%5], fmt.Sprint(i)))
	}
	saved, err := l.Save(nil)
	require.NoError(t, err)
	require.LessOrEqual(t, len(saved), 275, "%s", saved)
}

func TestAWideWindowIsOneCharacterACall(t *testing.T) {
	t.Parallel()
	s := defaultLoop()
	s.FreqOverrides = map[string]agent.FreqLimit{"bash": {Warn: 150, Hard: 300}}
	l := NewLoopDetection(nil, s)
	for i := range 299 {
		turn(t, l, called("bash", fmt.Sprint(i)))
	}
	saved, err := l.Save(nil)
	require.NoError(t, err)
	require.LessOrEqual(t, len(saved), 299+200)
	_, stop := turn(t, restored(t, l, s), called("bash", "last"))
	require.Contains(t, stop, "tool bash was called 300 times")
}

func TestSavedStateThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for saved, want := range map[string]string{
		`[]`:                        "cannot unmarshal array",
		`{"m":"short"}`:             "read the keys of messages: 5 characters are no keys of 8",
		`{"t":"abc"}`:               "read the keys of tools: 3 characters are no keys of 4",
		`{"n":"abc","t":"A"}`:       "read the keys of tools: 3 characters are no keys of 4",
		`{"n":"abcd","t":"AB"}`:     "'B' stands for none of 1 tools",
		`{"n":"abcd","t":"A!"}`:     "'!' stands for none of 1 tools",
		`{"m":"12345678","wm":[1]}`: "read the warned messages: position 1 is not among 1",
		`{"t":"1234","wt":[-1]}`:    "read the warned tools: position -1 is not among 1",
		`{"p":["x ls"]}`:            "read a warning",
	} {
		l := NewLoopDetection(nil, defaultLoop())
		turn(t, l, called("ls", "a"))
		before := l.state
		require.ErrorContains(t, l.Restore(nil, json.RawMessage(saved)), want, saved)
		require.Equal(t, before, l.state, "a state that cannot be read changes nothing")
	}
}

func TestRestoreForgetsWhatWasCountedBefore(t *testing.T) {
	t.Parallel()
	l := NewLoopDetection(nil, defaultLoop())
	for range 4 {
		turn(t, l, called("ls", "a"))
	}
	require.NoError(t, l.Restore(nil, json.RawMessage(`{"unknown":"of a newer version"}`)))
	require.Equal(t, loopState{}, l.state)
}

func TestKeysOfMessagesAndTools(t *testing.T) {
	t.Parallel()
	a, b := called("ls", "a"), called("ls", "b")
	require.Equal(t, messageKey([]thread.CallDigest{a, b}), messageKey([]thread.CallDigest{b, a}))
	require.NotEqual(t, messageKey([]thread.CallDigest{a}), messageKey([]thread.CallDigest{a, a}))
	require.Len(t, messageKey([]thread.CallDigest{{}}), messageKeyLen)
	require.Len(t, toolKey(""), toolKeyLen)
	require.NotEqual(t, toolKey("ls"), toolKey("bash"))
}
