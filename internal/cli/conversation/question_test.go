package conversation

import (
	"encoding/json"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/cli"
	"deerflow/internal/cli/fakeserver"
	"deerflow/internal/thread"
)

// resumeOf is what a request that started a run answers.
func resumeOf(t *testing.T, body string) map[string]string {
	t.Helper()
	var request struct {
		Command struct {
			Resume map[string]string `json:"resume"`
		} `json:"command"`
		Input any `json:"input"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &request))
	require.Nil(t, request.Input)
	return request.Command.Resume
}

func TestQuestionIsAnsweredByALineOfStandardInput(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{askingRun(question("q1", "Which one?", "red", "blue")), answeringRun("Blue then.")}
	c := newCall(t, s).stdin("2\n")
	c.Format = cli.FormatJSON
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, map[string]string{"q1": "blue"}, resumeOf(t, s.Bodies()[1]))
	r := c.result()
	require.Equal(t, "Blue then.", r.Answer)
	require.Equal(t, "run-2", r.RunID)
	require.Equal(t, 40, r.Usage.TotalTokens, "both runs count")
	require.Nil(t, r.Question)
	require.Contains(t, c.errOut.String(), "? Which one?\n  1. red\n  2. blue\nNumber of your choice, or your own answer: ")
}

func TestSeveralQuestionsAreAskedInTurn(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	form := thread.Interrupt{ID: "q2", Value: thread.Card{RequestID: "q2", Question: "Details?", InputMode: thread.InputForm, Fields: []thread.Field{
		{Name: "n", Label: "Count", Type: "number", Required: true}, {Name: "c", Label: "Sure", Type: "checkbox", Required: true},
	}}}
	s.Script = []fakeserver.Run{
		askingRun(question("q1", "Name?"), form), askingRun(question("q3", "Really?", "yes", "no")), answeringRun("Done."),
	}
	c := newCall(t, s).stdin("Ada\nmany\n3\ny\nyes\n")
	c.InIsTTY = true
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, map[string]string{"q1": "Ada", "q2": "Count: 3\nSure: yes"}, resumeOf(t, s.Bodies()[1]))
	require.Equal(t, map[string]string{"q3": "yes"}, resumeOf(t, s.Bodies()[2]))
	require.Equal(t, "Done.\n", c.out.String())
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	for name, noInput := range map[string]bool{"end of input": false, "no input": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakeserver.New(t)
			s.Known = []string{"t1"}
			s.Script = []fakeserver.Run{askingRun(question("q1", "Which one?", "red", "blue"))}
			c := newCall(t, s)
			c.Thread, c.Format, c.NoInput, c.Quiet = "t1", cli.FormatJSON, noInput, true
			c.Flags = []string{"--data-dir", "my data"}
			if noInput {
				c.stdin("1\n")
			}
			c.ends(cli.ExitWaiting)
			r := c.result()
			require.Equal(t, StatusWaiting, r.Status)
			require.Equal(t, "Which one?", r.Question.Question)
			require.Equal(t, "blue", r.Question.Options[1].Label)
			require.Empty(t, r.Answer)
			require.Len(t, s.Bodies(), 1)
			require.Contains(t, c.errOut.String(), "? Which one?\n  1. red\n  2. blue\n")
			require.Contains(t, c.errOut.String(), "  deerflow run --data-dir 'my data' --thread t1 --attach\n  deerflow run --data-dir 'my data' --thread t1 \"...\"\n")
		})
	}
}

func TestOpenQuestionStaysWhenTheTerminalIsLeft(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{askingRun(question("q1", "Name?"))}
	c := newCall(t, s).interruptAt("Your answer: ")
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	c.In, c.InIsTTY, c.Format = in, true, cli.FormatJSON
	c.ends(cli.ExitInterrupted)
	require.Equal(t, StatusWaiting, c.result().Status)
	require.Contains(t, c.errOut.String(), "Interrupted. The run waits for your answer")
	require.Empty(t, s.Cancels())
}

func TestLeavingCanCancelAnOpenQuestion(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{askingRun(question("q1", "Name?"))}
	c := newCall(t, s).interruptAt("Your answer: ")
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	c.In, c.InIsTTY, c.CancelOnInterrupt = in, true, true
	c.ends(cli.ExitInterrupted)
	require.Equal(t, []string{"run-1"}, s.Cancels())
	require.Contains(t, c.errOut.String(), "Interrupted: the run is cancelled.")
}

func TestQuestionThatWasAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{askingRun(question("q1", "Name?")), answeringRun("From the page.")}
	s.Known = []string{"t1"}
	c := newCall(t, s)
	in, out := io.Pipe()
	c.Thread, c.In = "t1", in
	go func() {
		waitFor(t, &c.errOut, "Your answer: ")
		s.Begin("t1")
		_, _ = io.WriteString(out, "Ada\n")
		_ = out.Close()
	}()
	require.NoError(t, c.run(cli.ExitDone))
	require.Contains(t, c.errOut.String(), "The question was answered elsewhere meanwhile.")
	require.Equal(t, "From the page.\n", c.out.String())
}

func TestAnAnswerWaitsForAServerThatIsAway(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{askingRun(question("q1", "Name?")), answeringRun("Hello Ada.")}
	s.Known = []string{"t1"}
	c := newCall(t, s)
	in, out := io.Pipe()
	c.Thread, c.In = "t1", in
	go func() {
		waitFor(t, &c.errOut, "Your answer: ")
		s.Away(true)
		_, _ = io.WriteString(out, "Ada\n")
		_ = out.Close()
		waitFor(t, &c.errOut, "your answer is kept and sent again")
		s.Away(false)
	}()
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, map[string]string{"q1": "Ada"}, resumeOf(t, s.Bodies()[1]))
	require.Equal(t, "Hello Ada.\n", c.out.String())
	require.Contains(t, c.errOut.String(), "Connected again.")
}

func TestAnAnswerThatDoesNotArriveTellsHowToAnswerLater(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{askingRun(question("q1", "Name?"))}
	s.Known = []string{"t1"}
	c := newCall(t, s)
	in, out := io.Pipe()
	c.Thread, c.In, c.Program = "t1", in, "bin/deerflow"
	var late atomic.Bool
	c.Now = func() time.Time {
		if late.Load() {
			return time.Now().Add(time.Hour)
		}
		return time.Now()
	}
	go func() {
		waitFor(t, &c.errOut, "Your answer: ")
		s.Away(true)
		_, _ = io.WriteString(out, "Ada\n")
		_ = out.Close()
		waitFor(t, &c.errOut, "your answer is kept and sent again")
		late.Store(true)
	}()
	c.ends(cli.ExitUnreachable)
	require.Contains(t, c.errOut.String(), "The run waits for your answer")
	require.Contains(t, c.errOut.String(), "\n  bin/deerflow run --thread t1 --attach\n")
}

func TestReplySaysWhatIsMeant(t *testing.T) {
	t.Parallel()
	open := []thread.Interrupt{question("q1", "Which one?", "red", "blue")}
	for text, want := range map[string]string{"2": "blue", "Red": "red", "neither": "neither"} {
		r, err := Reply(open, text)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"q1": want}, r.Resume)
		require.Empty(t, r.Messages)
	}
	strict := question("q1", "Which one?", "red", "blue")
	strict.Value.InputMode = "single_choice"
	_, err := Reply([]thread.Interrupt{strict}, "green")
	require.Equal(t, cli.ExitUsage, cli.CodeOf(err, -1))
	require.ErrorContains(t, err, `the answer to "Which one?"`)

	form := thread.Interrupt{ID: "f", Value: thread.Card{Question: "Details?", InputMode: thread.InputForm, Fields: []thread.Field{{Label: "Count"}}}}
	r, err := Reply([]thread.Interrupt{form}, "Count: 3")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"f": "Count: 3"}, r.Resume)
	for _, several := range [][]thread.Interrupt{nil, {open[0], form}} {
		r, err := Reply(several, "2")
		require.NoError(t, err)
		require.Nil(t, r.Resume)
		require.Equal(t, "2", r.Messages[0].Content.String())
	}
}

func TestAReplyIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Known = []string{"t1"}
	s.Script = []fakeserver.Run{askingRun(question("q1", "Which one?", "red", "blue")), answeringRun("Blue then.")}
	c := newCall(t, s)
	c.Thread = "t1"
	c.ends(cli.ExitWaiting)
	c = newCall(t, s)
	c.Thread, c.Reply, c.Question = "t1", true, "2"
	c.ends(cli.ExitDone)
	require.Equal(t, map[string]string{"q1": "blue"}, resumeOf(t, s.Bodies()[1]))
	require.Equal(t, "Blue then.\n", c.out.String())
	require.NotContains(t, c.errOut.String(), "is taken as one")
	c = newCall(t, s)
	c.Reply, c.Question = true, "2"
	c.ends(cli.ExitUsage)
}
