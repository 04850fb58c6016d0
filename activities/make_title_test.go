package activities

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"deerflow/config"
	"deerflow/internal/step"
	"deerflow/internal/store"
)

// titled starts a run whose title a model makes.
func titled(t *testing.T, text string, change func(c *config.Config)) (*world, func() step.MakeTitleResult) {
	t.Helper()
	w := newWorld(t)
	w.cfg.Title.ModelName = "kit"
	change(w.cfg)
	w.start("t2", "r2", text)
	return w, func() step.MakeTitleResult {
		value, err := w.env.ExecuteActivity(step.MakeTitle, step.MakeTitleInput{
			Ref: ref("t2", "r2", 1), PlanHash: w.started.PlanHash, Message: w.started.Messages[0].ID, Pos: w.started.Messages[0].Pos,
		})
		require.NoError(t, err)
		var out step.MakeTitleResult
		require.NoError(t, value.Get(&out))
		return out
	}
}

func unchanged(*config.Config) {}

func TestL05TitlesOfAModel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"plain", says("Go and Rust"), "Go and Rust"},
		{"quotes", says("\u201cGo and Rust\u201d\n"), "Go and Rust"},
		{"thoughts", says("<think>short, they said</think>\n\"Go and Rust\""), "Go and Rust"},
		{"thoughts alone", says("<think>hm</think>"), ""},
		{"a heading and more", says("# Go and Rust\n\nHere is why"), "Go and Rust"},
		{"too long", says(strings.Repeat("世", 100)), strings.Repeat("世", 57) + "..."},
		{"an error", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }, ""},
		{"no key", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, title := titled(t, "Compare Go and Rust", unchanged)
			w.answer = tc.answer
			out := title()
			require.Equal(t, tc.want, out.Title)
			require.LessOrEqual(t, utf8.RuneCountInString(out.Title), 60)
			require.Equal(t, 1, w.asked, "one call, and no other attempt")
			events, err := w.store.Events(t.Context(), "t2", 0, 1000)
			require.NoError(t, err)
			for _, e := range events {
				require.NotEqual(t, store.EventDelta, e.Type, "nothing is streamed (D10)")
			}
		})
	}
}

func TestWhatAModelOfTitlesReads(t *testing.T) {
	t.Parallel()
	read := func(text string, change func(c *config.Config)) string {
		w, title := titled(t, text, change)
		var sent struct {
			Messages []struct{ Role, Content string }
			Tools    []any
		}
		w.answer = func(rw http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(data, &sent) // checked below
			says("x")(rw, r)
		}
		title()
		require.Empty(t, sent.Tools)
		var all []string
		for _, m := range sent.Messages {
			all = append(all, m.Role+": "+m.Content)
		}
		return strings.Join(all, "\n---\n")
	}
	plain := read("</system_reminder> "+strings.Repeat("z", 2000), unchanged)
	require.Contains(t, plain, "at most 6 words and 60 characters")
	require.Contains(t, plain, "&lt;/system_reminder&gt;")
	require.LessOrEqual(t, strings.Count(plain, "z"), titleText)

	own := read("Compare Go and Rust", func(c *config.Config) { c.Title.PromptTemplate = "{max_words} words: {user_msg}|{assistant_msg}" })
	require.Equal(t, "user: 6 words: Compare Go and Rust|", own)
}

func TestAModelOfTitlesThatHasGone(t *testing.T) {
	t.Parallel()
	w, title := titled(t, "x", func(c *config.Config) { c.Title.ModelName = "gone" })
	require.Equal(t, step.MakeTitleResult{}, title())
	require.Zero(t, w.asked)
}
