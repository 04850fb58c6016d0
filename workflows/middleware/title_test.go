package middleware

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// The cases of spec 4.21 and 4.36, and L05.
func TestLocalTitle(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		max  int
		want string
	}{
		{"Compare Go and Rust", 60, "Compare Go and Rust"},
		{"  two\n\nlines\t ", 60, "two lines"},
		{"", 60, "New Conversation"},
		{" \n", 60, "New Conversation"},
		{strings.Repeat("x", 50), 60, strings.Repeat("x", 50)},
		{strings.Repeat("x", 200), 60, strings.Repeat("x", 50) + "..."},
		{strings.Repeat("世", 200), 60, strings.Repeat("世", 50) + "..."},
		{strings.Repeat("x", 40), 20, strings.Repeat("x", 17) + "..."},
		{"short", 0, "short"},
	} {
		require.Equal(t, tc.want, LocalTitle(tc.text, tc.max))
	}
	for _, limit := range []int{10, 20, 40, 49, 50, 52, 53, 200} {
		for _, text := range []string{strings.Repeat("x", 200), strings.Repeat("世", 2000)} {
			title := LocalTitle(text, limit)
			require.LessOrEqual(t, utf8.RuneCountInString(title), limit)
			require.True(t, strings.HasSuffix(title, "..."))
		}
	}
}

func TestWhichThreadsGetATitle(t *testing.T) {
	t.Parallel()
	human := thread.Digest{ID: "h", Role: thread.RoleHuman, Text: "Compare Go and Rust"}
	memory := thread.Digest{Role: thread.RoleHuman, Hidden: true, Text: "remember"}
	system := thread.Digest{Role: thread.RoleSystem, Text: "today"}
	answer := thread.Digest{Role: thread.RoleAI, Text: "Sure"}
	for _, tc := range []struct {
		name     string
		title    string
		messages []thread.Digest
		want     string
	}{
		{"the first answer", "", []thread.Digest{human, answer}, "Compare Go and Rust"},
		{"reminders are not counted", "", []thread.Digest{system, memory, human, answer}, "Compare Go and Rust"},
		{"a second question", "", []thread.Digest{human, answer, human, answer}, ""},
		{"has one", "Mine", []thread.Digest{human, answer}, ""}, // also one that a user gave
		{"no question", "", []thread.Digest{answer}, ""},
		{"a picture alone", "", []thread.Digest{{Role: thread.RoleHuman, Empty: true}, answer}, "New Conversation"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			run := &Run{State: thread.State{Title: tc.title}, Messages: tc.messages}
			m := NewTitle(nil, agent.TitleRule{MaxWords: 6, MaxChars: 60})
			for _, hook := range []func() (Update, error){
				func() (Update, error) { return m.AfterModel(nil, run, answered("Sure", "stop")) },
				func() (Update, error) { return m.AfterRun(nil, run) }, // of a run that was stopped before
			} {
				u, err := hook()
				require.NoError(t, err)
				if tc.want == "" {
					require.Equal(t, Update{}, u)
					continue
				}
				require.Equal(t, Update{State: thread.StateUpdate{Title: &tc.want}}, u)
			}
		})
	}
}

// titleSteps gives the title of a model after a while.
type titleSteps struct {
	Steps
	after time.Duration
	title step.MakeTitleResult
	err   error
	asked []step.MakeTitleInput
}

func (s *titleSteps) MakeTitle(ctx workflow.Context, in step.MakeTitleInput) workflow.Future {
	s.asked = append(s.asked, in)
	future, settable := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := workflow.Sleep(ctx, s.after); err != nil {
			settable.SetError(err)
			return
		}
		settable.Set(s.title, s.err)
	})
	return future
}

func TestATitleOfAModel(t *testing.T) {
	t.Parallel()
	made := step.MakeTitleResult{Title: "Go and Rust", Usage: used(50, 5)}
	for _, tc := range []struct {
		name   string
		steps  titleSteps
		answer time.Duration // how long the first answer takes
		rename string        // by the user, while the model works
		lost   bool          // the workflow continued as new
		want   string
		usage  bool
		within time.Duration // how long the end waits
	}{
		{name: "there before the answer", steps: titleSteps{title: made}, answer: time.Second, want: "Go and Rust", usage: true},
		{name: "there a little later", steps: titleSteps{title: made, after: 3 * time.Second}, answer: 2 * time.Second, want: "Go and Rust", usage: true, within: time.Second},
		{name: "too slow", steps: titleSteps{title: made, after: time.Minute}, answer: time.Second, want: "Compare Go and Rust", within: 2 * time.Second},
		{name: "fails", steps: titleSteps{err: errors.New("500")}, answer: time.Second, want: "Compare Go and Rust"},
		{name: "has nothing to say", steps: titleSteps{title: step.MakeTitleResult{Usage: used(50, 0)}}, answer: time.Second, want: "Compare Go and Rust", usage: true},
		{name: "a user's own wins", steps: titleSteps{title: made}, answer: time.Second, rename: "Mine"},
		{name: "lost with the workflow's run", steps: titleSteps{title: made, after: time.Second}, answer: time.Minute, lost: true, want: "Compare Go and Rust"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var state thread.State
			var usage *thread.Usage
			var waited time.Duration
			take := func(u Update, err error) {
				require.NoError(t, err)
				require.NoError(t, state.Apply(u.State))
				if u.Usage != nil {
					require.Nil(t, usage, "it is counted once")
					usage = u.Usage
				}
			}
			inWorkflow(t, func(ctx workflow.Context) {
				m := NewTitle(ctx, agent.TitleRule{MaxWords: 6, MaxChars: 60, Model: "small"})
				messages := []thread.Digest{{ID: "h", Pos: 7, Role: thread.RoleHuman, Text: "Compare Go and Rust"}}
				view := func() *Run { return &Run{State: state, Messages: messages, Steps: &tc.steps} }
				take(m.BeforeModel(ctx, view()))
				require.NoError(t, workflow.Sleep(ctx, tc.answer))
				if tc.lost {
					saved, err := m.Save(ctx)
					require.NoError(t, err)
					m = NewTitle(ctx, m.rule)
					require.NoError(t, m.Restore(ctx, saved))
				}
				if tc.rename != "" {
					state.Title = tc.rename
				}
				take(m.AfterModel(ctx, view(), answered("Sure", "tool_calls")))
				messages[0].Text = "" // many messages later
				take(m.BeforeModel(ctx, view()))
				take(m.AfterModel(ctx, view(), answered("Sure", "stop")))
				began := workflow.Now(ctx)
				take(m.AfterRun(ctx, view()))
				waited = workflow.Now(ctx).Sub(began)
				if tc.rename == "" {
					require.Empty(t, m.state.Local, "what is not needed any more is not carried")
				}
			})
			require.Equal(t, []step.MakeTitleInput{{Message: "h", Pos: 7}}, tc.steps.asked, "a model is asked once")
			if tc.rename != "" {
				tc.want = tc.rename
			}
			require.Equal(t, tc.want, state.Title)
			require.Equal(t, tc.usage, usage != nil)
			require.LessOrEqual(t, waited, tc.within, "the end of a run is not held up")
		})
	}
}
