package middleware

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func defaultLoop() agent.LoopSettings {
	return agent.LoopSettings{Enabled: true, Warn: 3, Hard: 5, Window: 20, FreqWarn: 30, FreqHard: 50}
}

// called is a call of a tool with a key of its own.
func called(tool, key string) thread.CallDigest {
	return thread.CallDigest{Name: tool, Key: agent.HashKeys([]string{tool, key})}
}

// turn takes one message of the model through a LoopDetection: the warnings that
// its request carried, and the text of a stop.
func turn(t require.TestingT, l *LoopDetection, calls ...thread.CallDigest) (warning, stop string) {
	request := &Request{}
	require.NoError(t, l.EditRequest(nil, &Run{}, request))
	for _, e := range request.Edits {
		require.Equal(t, agent.Edit{Op: agent.EditAppend, Role: thread.RoleHuman, Name: "loop_warning", Text: e.Text}, e, "a warning stands behind all messages (B03)")
		warning += e.Text
	}
	require.LessOrEqual(t, len(request.Edits), 1)
	u, err := l.AfterModel(nil, &Run{}, &ModelReply{CallModelResult: step.CallModelResult{Message: thread.Digest{ID: "m", Calls: calls}}})
	require.NoError(t, err)
	if u.Goto == "" {
		require.Equal(t, Update{}, u, "a warning leaves the state alone")
		return warning, ""
	}
	require.Equal(t, Update{
		Revisions:  []thread.Revision{{MessageID: "m", StripCalls: true, AppendText: u.Revisions[0].AppendText}},
		Goto:       step.GotoEnd,
		StopReason: thread.StopLoopCapped,
	}, u)
	require.True(t, strings.HasPrefix(u.Revisions[0].AppendText, "[FORCED STOP] "))
	return warning, u.Revisions[0].AppendText
}

// warnedAt plays messages and gives the turns whose request carried a warning,
// and the turn that was stopped.
func warnedAt(t *testing.T, s agent.LoopSettings, messages [][]thread.CallDigest) (warned []int, stopped int) {
	t.Helper()
	l := NewLoopDetection(nil, s)
	for i, calls := range messages {
		warning, stop := turn(t, l, calls...)
		if warning != "" {
			warned = append(warned, i+1)
		}
		if stop != "" {
			return warned, i + 1
		}
	}
	warning, _ := turn(t, l)
	if warning != "" {
		warned = append(warned, len(messages)+1)
	}
	return warned, 0
}

// of plays single calls.
func of(n int, call func(i int) thread.CallDigest) [][]thread.CallDigest {
	var messages [][]thread.CallDigest
	for i := range n {
		messages = append(messages, []thread.CallDigest{call(i)})
	}
	return messages
}

func TestC02LoopDetectionCounts(t *testing.T) {
	t.Parallel()
	same := func(int) thread.CallDigest { return called("ls", "/a") }
	small := defaultLoop()
	small.FreqWarn, small.FreqHard = 2, 3
	quick := defaultLoop()
	quick.Window, quick.Warn, quick.Hard = 1, 2, 3
	bash := defaultLoop()
	bash.FreqOverrides = map[string]agent.FreqLimit{"bash": {Warn: 150, Hard: 300}}
	strict := defaultLoop()
	strict.FreqOverrides = map[string]agent.FreqLimit{"bash": {Warn: 2, Hard: 4}}
	different := func(tool string) func(int) thread.CallDigest {
		return func(i int) thread.CallDigest { return called(tool, fmt.Sprint(i)) }
	}
	ab, ba := []thread.CallDigest{called("ls", "a"), called("ls", "b")}, []thread.CallDigest{called("ls", "b"), called("ls", "a")}

	for _, tc := range []struct {
		name     string
		settings agent.LoopSettings
		messages [][]thread.CallDigest
		warned   []int
		stopped  int
	}{
		{"C01 the same call", defaultLoop(), of(9, same), []int{4}, 5},
		{"three times is one warning", defaultLoop(), of(3, same), []int{4}, 0},
		{"four times is no second one", defaultLoop(), of(4, same), []int{4}, 0},
		{"twice is nothing", defaultLoop(), of(2, same), nil, 0},
		{"the order of calls does not matter", defaultLoop(), [][]thread.CallDigest{ab, ba, ab, ba, ab}, []int{4}, 5},
		{"two of the same are not one", defaultLoop(), [][]thread.CallDigest{{called("ls", "a")}, {called("ls", "a"), called("ls", "a")}, {called("ls", "a")}}, nil, 0},
		{"C02 a pair in turns", defaultLoop(), of(20, func(i int) thread.CallDigest { return called("ls", fmt.Sprint(i%2)) }), []int{6, 7}, 9},
		{"C02 three in turns", defaultLoop(), of(20, func(i int) thread.CallDigest { return called("ls", fmt.Sprint(i%3)) }), []int{8, 9, 10}, 13},
		{"C02 many files read for nothing", defaultLoop(), of(60, different("read_file")), []int{31}, 50},
		{"all different and of many tools", defaultLoop(), of(200, func(i int) thread.CallDigest { return called(fmt.Sprint("tool", i%7), fmt.Sprint(i)) }), nil, 0},
		{"a call that left the window may come back", defaultLoop(), append(append(of(2, same), of(20, func(i int) thread.CallDigest { return called(fmt.Sprint("tool", i%7), fmt.Sprint(i)) })...), of(2, same)...), nil, 0},
		{"a window below the limit is widened", quick, of(9, same), []int{3}, 3},
		{"C04 the stop wins in one batch", small, [][]thread.CallDigest{{called("ls", "a"), called("ls", "b"), called("ls", "c")}}, nil, 1},
		{"a burst of one tool", defaultLoop(), [][]thread.CallDigest{func() []thread.CallDigest {
			var calls []thread.CallDigest
			for i := range 50 {
				calls = append(calls, called("read_file", fmt.Sprint(i)))
			}
			return calls
		}()}, nil, 1},
		{"other calls between let it decay", defaultLoop(), of(400, func(i int) thread.CallDigest {
			return called([]string{"read_file", "grep"}[i%2], fmt.Sprint(i))
		}), nil, 0},
		{"an override is honoured", bash, of(310, different("bash")), []int{151}, 300},
		{"an override is for its tool alone", bash, of(60, different("ls")), []int{31}, 50},
		{"a strict override", strict, of(9, different("bash")), []int{3}, 4},
		{"off", agent.LoopSettings{Warn: 1, Hard: 1}, of(99, same), nil, 0},
		{"zero settings are the defaults", agent.LoopSettings{Enabled: true}, of(9, same), []int{4}, 5},
		{"zero settings are the defaults of the frequency too", agent.LoopSettings{Enabled: true}, of(60, different("ls")), []int{31}, 50},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			warned, stopped := warnedAt(t, tc.settings, tc.messages)
			require.Equal(t, tc.stopped, stopped, "stopped at")
			require.Equal(t, tc.warned, warned, "warned with")
		})
	}
}

// C02: rounds are seen whatever the window is. Without the check a window that is
// too short for them lets them go on for ever.
func TestRoundsBeyondTheWindow(t *testing.T) {
	t.Parallel()
	short := defaultLoop()
	short.Window, short.FreqWarn, short.FreqHard = 5, 900, 1000
	patient := short
	patient.Window, patient.Warn, patient.Hard = 20, 8, 10
	// play gives the turns that were warned, and the one that was stopped.
	play := func(l *LoopDetection, keys []string) (warned []int, stopped int) {
		for i, key := range keys {
			warning, stop := turn(t, l, called("ls", key))
			if warning != "" {
				warned = append(warned, i+1)
			}
			if stop != "" {
				return warned, i + 1
			}
		}
		return warned, 0
	}
	every := func(n, period int) []string {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprint(i%period))
		}
		return keys
	}
	for _, tc := range []struct {
		name     string
		settings agent.LoopSettings
		keys     []string
		warned   []int
		stopped  int
	}{
		{"two in turns", short, every(40, 2), []int{6, 7}, 10},
		{"three in turns", short, every(40, 3), []int{10, 11, 12}, 15},
		{"three in turns, high limits", patient, every(60, 3), []int{25, 26, 27}, 30},
		{"four in turns are no round", short, every(40, 4), nil, 0},
		{"a round that is broken off begins anew", short, append(every(9, 2), append([]string{"x"}, every(7, 2)...)...), []int{6, 7, 17}, 0},
		{"all different", short, every(60, 60), nil, 0},
		{"the same call", short, every(9, 1), []int{4}, 5},
	} {
		warned, stopped := play(NewCyclicLoopDetection(nil, tc.settings), tc.keys)
		require.Equal(t, tc.stopped, stopped, tc.name)
		require.Equal(t, tc.warned, warned, tc.name)
	}
	_, stopped := play(NewLoopDetection(nil, short), every(40, 2))
	require.Zero(t, stopped, "a loop that began without the check goes on without it")

	// By default the window is long enough: nothing is kept beside it.
	require.Equal(t, NewLoopDetection(nil, defaultLoop()).kept, NewCyclicLoopDetection(nil, defaultLoop()).kept)
}

func TestLoopTexts(t *testing.T) {
	t.Parallel()
	l := NewLoopDetection(nil, defaultLoop())
	for range 3 {
		turn(t, l, called("ls", "a"))
	}
	warning, _ := turn(t, l, called("ls", "a"))
	require.Equal(t, "[LOOP DETECTED] You have made the same tool calls 3 times. Use what you have, or try something else; at 5 times the run is stopped.", warning)
	_, stop := turn(t, l, called("ls", "a"))
	require.Contains(t, stop, "the same tool calls came 5 times")

	l = NewLoopDetection(nil, defaultLoop())
	for i := range 30 {
		turn(t, l, called("grep", fmt.Sprint(i)))
	}
	warning, _ = turn(t, l)
	require.Equal(t, "[LOOP DETECTED] You have called grep 30 times. Come to a conclusion from what you have; at 50 calls the run is stopped.", warning)
	for i := range 19 {
		_, stop = turn(t, l, called("grep", fmt.Sprint(100+i)))
		require.Empty(t, stop)
	}
	_, stop = turn(t, l, called("grep", "last"))
	require.Contains(t, stop, "tool grep was called 50 times")
}

func TestWarningsOfOneMessageGoTogether(t *testing.T) {
	t.Parallel()
	s := defaultLoop()
	s.FreqWarn = 2
	s.Warn = 1
	l := NewLoopDetection(nil, s)
	var calls []thread.CallDigest
	for _, tool := range []string{"a", "b", "c", "d", "e", "f"} {
		calls = append(calls, called(tool, "1"), called(tool, "2"))
	}
	turn(t, l, calls...)
	warning, _ := turn(t, l)
	parts := strings.Split(warning, "\n\n")
	require.Len(t, parts, 4, "at most four")
	require.Contains(t, parts[0], "the same tool calls 1 times")
	for i, tool := range []string{"a", "b", "c"} {
		require.Contains(t, parts[i+1], "You have called "+tool+" 2 times")
	}
	again, _ := turn(t, l)
	require.Empty(t, again, "a warning is delivered once")
}

func TestAWarningReturnsWhenTheUseFellAndRose(t *testing.T) {
	t.Parallel()
	s := defaultLoop()
	s.Window, s.FreqWarn, s.FreqHard = 6, 3, 6
	for _, tc := range []struct {
		calls  string // one letter a tool
		warned []int  // after which calls
	}{
		{"aaaaa", []int{3}},
		{"aaabbbabaa", []int{3, 6, 10}}, // the ninth finds a at 2 of 6, the tenth at 3
		{"aaabbba", []int{3, 6}},        // a has never been below
		{"aaabcdefga", []int{3}},
		{"aaabcdefgaaa", []int{3, 12}},
	} {
		l := NewLoopDetection(nil, s)
		var warned []int
		for i, tool := range tc.calls {
			_, stop := turn(t, l, called(string(tool), fmt.Sprint(i)))
			require.Empty(t, stop)
			if warning, _ := turn(t, l); warning != "" {
				warned = append(warned, i+1)
			}
		}
		require.Equal(t, tc.warned, warned, tc.calls)
	}
}

func TestNotesThatDoNotMatterAnyMoreAreForgotten(t *testing.T) {
	t.Parallel()
	window := strings.Split("aaabbcdd", "")
	limit := func(key string) int { return map[string]int{"a": 4, "b": 4, "c": 1, "d": 3, "e": 1}[key] }
	require.Equal(t, []string{"a", "c", "d"}, forget([]string{"a", "b", "c", "d", "e"}, window, limit))
}

func TestMessagesWithoutCallsAreNotCounted(t *testing.T) {
	t.Parallel()
	l := NewLoopDetection(nil, defaultLoop())
	for range 50 {
		warning, stop := turn(t, l)
		require.Empty(t, warning+stop)
	}
	saved, err := l.Save(nil)
	require.NoError(t, err)
	require.Nil(t, saved)
}
