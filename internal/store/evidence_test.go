package store

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/evidence"
	"deerflow/internal/thread"
)

// tool completes the result of a tool call with what it leaves beside it.
func (f *fixture) tool(threadID, run string, n int, row NewRow) Row {
	f.t.Helper()
	r := ref(threadID, run, n)
	o := f.owner(r)
	row.Message = thread.ToolResult(o.MessageID, thread.ToolCall{Name: "web_fetch", ID: "c"}, thread.ToolSuccess, "text")
	row.Pos = int64(n)
	got, err := f.Finish(f.ctx, o, row)
	require.NoError(f.t, err)
	return got
}

func page(url, text string) Source {
	return Source{Kind: thread.SourceFetched, Tool: "web_fetch", CallID: "c", URL: url, Text: text, At: at}
}

func TestSources(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "hello")
		f.start("t1", "r1", 0)
		moved := page("http://a.org/old", "A\x00deer \xff")
		moved.FinalURL, moved.Title, moved.BodyHash = "https://www.a.org/new?utm_source=x", "T\x00itle", "ab12"
		f.tool("t1", "r1", 1, NewRow{Sources: []Source{
			moved,
			{Kind: thread.SourceFound, Tool: "web_search", CallID: "c", URL: "https://b.org/p", Title: "B", At: at.Add(time.Second)},
			{Kind: thread.SourceFound, URL: "no address"},
			{Kind: thread.SourceFetched, URL: "https://long.org", Text: strings.Repeat("鹿", maxPage/3+10), At: at.Add(2 * time.Second)},
		}})
		list, err := f.Sources(f.ctx, "t1")
		require.NoError(f.t, err)
		require.Len(f.t, list, 3)
		hash := hashText("A\uFFFDdeer \uFFFD")
		require.Equal(f.t, Source{
			RunID: "r1", MessageID: thread.MessageID("r1", 1), CallID: "c", Tool: "web_fetch", Kind: thread.SourceFetched, URL: "http://a.org/old",
			FinalURL: "https://www.a.org/new?utm_source=x", Title: "T\uFFFDitle", Hash: hash, BodyHash: "ab12", Size: len("A\uFFFDdeer \uFFFD"), At: at,
		}, list[0])
		require.Equal(f.t, "B", list[1].Title)
		require.Empty(f.t, list[1].Hash)
		require.True(f.t, list[2].Truncated)
		require.LessOrEqual(f.t, list[2].Size, maxPage)
		text, err := f.Text(f.ctx, "t1", hash)
		require.NoError(f.t, err)
		require.Equal(f.t, "A\uFFFDdeer \uFFFD", text)
		for digits, want := range map[string]int{hash: 1, hash[:8]: 1, "": 2, hash[:8] + "g": 0, strings.ToUpper(hash[:12]): 0, "%": 0} {
			named, err := f.TextsNamed(f.ctx, "t1", digits)
			require.NoError(f.t, err)
			require.Len(f.t, named, want, digits)
		}
		named, err := f.TextsNamed(f.ctx, "t2", hash[:8])
		require.NoError(f.t, err)
		require.Empty(f.t, named)

		known, err := f.KnownPages(f.ctx, "t1", []string{"a.org/old", "a.org/new", "b.org/p", "c.org"})
		require.NoError(f.t, err)
		require.Equal(f.t, map[string]evidence.Grade{"a.org/old": evidence.Fetched, "a.org/new": evidence.Fetched, "b.org/p": evidence.Found}, known)
		f.tool("t1", "r1", 2, NewRow{Sources: []Source{page("https://b.org/p#x", "B"), {Kind: thread.SourceFound, URL: "https://b.org/p"}}})
		known, err = f.KnownPages(f.ctx, "t1", []string{"b.org/p"})
		require.NoError(f.t, err)
		require.Equal(f.t, evidence.Fetched, known["b.org/p"], "read once is read")

		// The second attempt of a step stores nothing twice.
		before := f.count("sources")
		_, err = f.Finish(f.ctx, Owner{Ref: ref("t1", "r1", 2), MessageID: thread.MessageID("r1", 2)}, NewRow{
			Pos: 2, Message: ai(thread.MessageID("r1", 2), "x"), Sources: []Source{page("https://z.org", "Z")},
		})
		require.NoError(f.t, err)
		require.Equal(f.t, before, f.count("sources"))
	})
}

// A text is kept once for all threads, and goes with the last that refers to it;
// no thread reads that of another one.
func TestTextsAreSharedAndRemoved(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for _, id := range []string{"t1", "t2"} {
			f.submit(id, id+"r", "hello")
			f.start(id, id+"r", 0)
			f.tool(id, id+"r", 1, NewRow{Sources: []Source{page("https://a.org", "shared"), page("https://a.org", "shared"), page("https://b.org", "only "+id)}})
		}
		require.Equal(f.t, 3, f.count("texts"))
		_, err := f.Text(f.ctx, "t1", hashText("only t2"))
		require.ErrorIs(f.t, err, ErrNotFound)
		f.commit(commitInput(ref("t1", "t1r", 2), 2, thread.StatusIdle))
		copied := commitInput(ref("t2", "t2r", 2), 2, thread.StatusIdle)
		copied.Ends = []thread.End{{RunID: "t2r", Status: thread.RunSuccess}}
		f.commit(copied)
		_, err = f.CopyThread(f.ctx, "t2", "t3")
		require.NoError(f.t, err)
		list, err := f.Sources(f.ctx, "t3")
		require.NoError(f.t, err)
		require.Len(f.t, list, 3)

		require.NoError(f.t, f.DeleteThread(f.ctx, "t1"))
		require.NoError(f.t, f.DeleteThread(f.ctx, "t2"))
		require.Equal(f.t, 2, f.count("texts"), "the copy still has them")
		text, err := f.Text(f.ctx, "t3", hashText("only t2"))
		require.NoError(f.t, err)
		require.Equal(f.t, "only t2", text)
		require.NoError(f.t, f.DeleteThread(f.ctx, "t3"))
		for _, table := range []string{"texts", "text_refs", "sources", "citations", "baselines", "file_changes"} {
			require.Zero(f.t, f.count(table), table)
		}
	})
}

func TestChecks(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", "hello")
		f.start("t1", "r1", 0)
		bad := evidence.Check{Place: "/mnt/user-data/outputs/r.md", Citations: 1, Unknown: 1, Flags: []evidence.Flag{{URL: "https://a.org", Form: evidence.FormLink, Grade: evidence.Unknown}}}
		f.tool("t1", "r1", 1, NewRow{Checks: []evidence.Check{bad}})
		mended := evidence.Check{Place: bad.Place, Citations: 1, Fetched: 1}
		answer := evidence.Check{Place: evidence.PlaceAnswer, Citations: 2, Unknown: 2}
		f.tool("t1", "r1", 2, NewRow{Checks: []evidence.Check{answer, mended}})
		checks, err := f.Checks(f.ctx, "t1", "r1")
		require.NoError(f.t, err)
		require.Equal(f.t, map[string][]evidence.Check{"r1": {mended, answer}}, checks)
		checks, err = f.Checks(f.ctx, "t1", "")
		require.NoError(f.t, err)
		require.Len(f.t, checks, 1)
		checks, err = f.Checks(f.ctx, "t1", "other")
		require.NoError(f.t, err)
		require.Empty(f.t, checks)
		end := commitInput(ref("t1", "r1", 3), 3, thread.StatusIdle)
		end.Ends = []thread.End{{RunID: "r1", Status: thread.RunSuccess}}
		f.commit(end)
		require.NoError(f.t, f.DeleteRun(f.ctx, "t1", "r1"))
		require.Zero(f.t, f.count("citations"))
	})
}

func TestMentions(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.submit("t1", "r1", `see https://a.org/x?a=1&b="2"`, "nothing")
		f.start("t1", "r1", 0)
		f.finish(f.owner(ref("t1", "r1", 1)), 3, `I cite https://a.org/x?a=1&b="2"`)
		found, err := f.Mentions(f.ctx, "t1", `a.org/x?a=1&b="2"`)
		require.NoError(f.t, err)
		require.Len(f.t, found, 1, "what the model says is no evidence")
		require.Equal(f.t, thread.RoleHuman, found[0].Role)
		found, err = f.Mentions(f.ctx, "t1", "a.org/%")
		require.NoError(f.t, err)
		require.Empty(f.t, found, "no pattern")
	})
}

func TestBaseline(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		_, _, err := f.Baseline(f.ctx, "t1")
		require.ErrorIs(f.t, err, ErrNotFound)
		begin := func(run string, pos int64, b Baseline) {
			f.submit("t1", run, "hello")
			in := StartRun{Ref: ref("t1", run, 1), Pos: pos, PlanHash: "h1", Plan: []byte(`{}`), At: at, Baseline: &b}
			for range 2 { // a repeat changes nothing
				_, err := f.StartRun(f.ctx, in)
				require.NoError(f.t, err)
				in.Baseline = &Baseline{Files: json.RawMessage(`["later"]`)}
			}
		}
		one, two := hashText("one"), hashText("two")
		begin("r1", 0, Baseline{Files: json.RawMessage(`["a"]`), Texts: map[string]string{one: "one", two: "two"}})
		run, files, err := f.Baseline(f.ctx, "t1")
		require.NoError(f.t, err)
		require.Equal(f.t, "r1", run)
		require.JSONEq(f.t, `["a"]`, string(files))
		texts, err := f.FileTexts(f.ctx, "t1", []string{one, two, hashText("none")})
		require.NoError(f.t, err)
		require.Equal(f.t, map[string]string{one: "one", two: "two"}, texts)
		_, err = f.Text(f.ctx, "t1", one)
		require.ErrorIs(f.t, err, ErrNotFound, "it is no page")

		c, err := f.Changes(f.ctx, "t1", "r1")
		require.NoError(f.t, err)
		require.Zero(f.t, c)
		f.tool("t1", "r1", 2, NewRow{Changes: &FileChanges{Body: json.RawMessage(`{"n":2}`), At: at.Add(2 * time.Second)}})
		require.NoError(f.t, f.PutChanges(f.ctx, "t1", "r1", FileChanges{Body: json.RawMessage(`{"n":1}`), At: at.Add(time.Second)}))
		c, err = f.Changes(f.ctx, "t1", "r1")
		require.NoError(f.t, err)
		require.JSONEq(f.t, `{"n":2}`, string(c.Body), "the later look counts")
		_, err = f.Changes(f.ctx, "t1", "r2")
		require.ErrorIs(f.t, err, ErrNotFound)

		begin("r2", 10, Baseline{Files: json.RawMessage(`["b"]`), Kept: []string{two}, Texts: map[string]string{hashText("three"): "three"}})
		texts, err = f.FileTexts(f.ctx, "t1", []string{one, two, hashText("three")})
		require.NoError(f.t, err)
		require.Equal(f.t, map[string]string{two: "two", hashText("three"): "three"}, texts)
		require.Equal(f.t, 2, f.count("texts"))
		require.ErrorIs(f.t, f.PutChanges(f.ctx, "gone", "r1", FileChanges{}), ErrThreadGone)
	})
}
