package conversation

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/cli"
	"deerflow/internal/cli/fakeserver"
	"deerflow/internal/thread"
)

func TestNamedServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	c := newCall(t, nil)
	c.Server = "http://127.0.0.1:1/"
	c.StartServer = func(context.Context) (string, func(context.Context) error, error) {
		panic("a server that was named is never replaced")
	}
	require.ErrorContains(t, c.run(cli.ExitUnreachable), "no DeerFlow server at http://127.0.0.1:1")
}

func TestNamedServerThatIsSomethingElse(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"<html>":                  "is not JSON",
		`{"status":"healthy"}`:    "no DeerFlow server",
		`{"service":"deer-flow"}`: "no DeerFlow server",
	} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
		c := newCall(t, nil)
		c.Server = other.URL
		require.ErrorContains(t, c.run(cli.ExitUnreachable), want)
		other.Close()
	}
}

func TestSickServerIsNamedNotReplaced(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"server", "announced", "default"} {
		s := fakeserver.New(t)
		s.Sick = "temporal: connection refused"
		c := newCall(t, nil)
		c.StartServer = func(context.Context) (string, func(context.Context) error, error) { panic("there is one") }
		switch how {
		case "server":
			c.Server = s.URL
		case "announced":
			announce(t, c.DataDir, s.URL)
		case "default":
			c.DefaultServer = s.URL
		}
		require.ErrorContains(t, c.run(cli.ExitUnreachable), "temporal: connection refused", how)
	}
}

func TestServersAreTriedInOrder(t *testing.T) {
	t.Parallel()
	announced, byDefault := fakeserver.New(t), fakeserver.New(t)
	announced.Script = []fakeserver.Run{answeringRun("announced")}
	byDefault.Script = []fakeserver.Run{answeringRun("default"), answeringRun("default")}
	c := newCall(t, nil)
	c.DefaultServer = byDefault.URL
	announce(t, c.DataDir, announced.URL)
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, "announced\n", c.out.String())

	c = newCall(t, nil)
	c.DefaultServer, c.Config = byDefault.URL, "my.yaml"
	announce(t, c.DataDir, "http://127.0.0.1:1") // left behind by a server that was killed
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, "default\n", c.out.String())
	require.Contains(t, c.progress(), "its own configuration holds, not my.yaml")

	c = newCall(t, nil)
	c.DefaultServer = byDefault.URL
	require.NoError(t, os.WriteFile(filepath.Join(c.DataDir, "server.json"), []byte("{"), 0o600))
	require.NoError(t, c.run(cli.ExitDone))
}

func TestNoServerAndNoneCanBeStarted(t *testing.T) {
	t.Parallel()
	c := newCall(t, nil)
	require.ErrorContains(t, c.run(cli.ExitUnreachable), "start one with 'deerflow dev'")

	c = newCall(t, nil)
	c.StartServer = func(context.Context) (string, func(context.Context) error, error) {
		return "", nil, cli.Exitf(cli.ExitUsage, "the data directory is in use")
	}
	require.ErrorContains(t, c.run(cli.ExitUsage), "in use")

	c = newCall(t, nil)
	c.StartServer = func(context.Context) (string, func(context.Context) error, error) {
		return "", nil, errors.New("no room")
	}
	require.ErrorContains(t, c.run(cli.ExitUnreachable), "no room")
}

func TestAPIKey(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.APIKey = "secret"
	s.Script = []fakeserver.Run{answeringRun("In.")}
	c := newCall(t, s)
	require.ErrorContains(t, c.run(cli.ExitAuth), "Authentication required; set --api-key")
	c = newCall(t, s)
	c.APIKey = "secret"
	require.NoError(t, c.run(cli.ExitDone))
	require.NotContains(t, c.errOut.String(), "secret")
}

func TestUnknownThreads(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	c := newCall(t, s)
	c.Thread, c.Files = "nope", []string{c.file("a", "b")}
	require.ErrorContains(t, c.run(cli.ExitNotFound), "no thread nope on "+s.URL)
	require.Empty(t, s.Uploads())

	c = newCall(t, s)
	c.Question, c.Thread, c.Attach = "", "nope", true
	require.ErrorContains(t, c.run(cli.ExitNotFound), "no thread nope")
}

func TestUnknownModelIsAUsageError(t *testing.T) {
	t.Parallel()
	c := newCall(t, fakeserver.New(t))
	c.Model = "unknown"
	require.ErrorContains(t, c.run(cli.ExitUsage), "the server does not start the run: Model 'unknown' is not in the configured model allowlist")
}

func TestBusyThreadNamesTheWayToItsRun(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{holdingRun(t), answeringRun("x")}
	s.Begin("t1")
	c := newCall(t, s)
	c.Thread = "t1"
	require.ErrorContains(t, c.run(cli.ExitFailed), "deerflow run --thread t1 --attach")
}

func TestLostConnectionIsToldOnceAndNothingIsLost(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	run := readingRun()
	run.Cut = 3
	s.Script = []fakeserver.Run{run}
	s.Files["/mnt/user-data/outputs/report.md"] = "R"
	c := newCall(t, s)
	require.NoError(t, c.run(cli.ExitDone))
	text := c.errOut.String()
	require.Equal(t, 1, strings.Count(text, "The connection to the server is lost"), text)
	require.Equal(t, 1, strings.Count(text, "Connected again."))
	require.Equal(t, 1, strings.Count(text, "• read_file README.md"))
	require.Equal(t, 1, strings.Count(text, "✓ read_file"))
	require.Equal(t, "It is good.\n\nR\n", c.out.String())
}

func TestServerThatRestartsInTheMiddle(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{holdingRun(t)}
	c := newCall(t, s)
	go func() {
		waitFor(t, &c.errOut, "• bash sleep 9")
		s.Away(true)
		waitFor(t, &c.errOut, "The connection to the server is lost")
		time.Sleep(250 * time.Millisecond) // longer than the first pauses: several attempts fail
		s.Away(false)
		close(s.Script[0].Hold)
	}()
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, "At last.\n", c.out.String())
	require.Equal(t, 1, strings.Count(c.errOut.String(), "The connection to the server is lost"), c.errOut.String())
}

func waitFor(t *testing.T, b *buffer, text string) {
	t.Helper()
	for !strings.Contains(b.String(), text) && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

func TestServerThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{holdingRun(t)}
	c := newCall(t, s)
	hours := make(chan time.Duration, 1)
	hours <- 0
	c.Now = func() time.Time { // a clock that runs fast once the server is away
		h := <-hours
		if strings.Contains(c.errOut.String(), "is lost") {
			h += time.Hour
		}
		hours <- h
		return time.Unix(0, 0).Add(h)
	}
	go func() {
		waitFor(t, &c.errOut, "• bash sleep 9")
		s.Away(true)
	}()
	c.ends(cli.ExitUnreachable)
	require.Contains(t, c.errOut.String(), "The server cannot be reached for 5m0s. The run goes on without this terminal.")
}

func TestAttachToARunThatHasEnded(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{askingRun(question("q1", "Name?")), answeringRun("Hello Ada.")}
	first := newCall(t, s)
	first.Thread, s.Known = "t1", []string{"t1"}
	first.ends(cli.ExitWaiting)

	c := newCall(t, s).stdin("Ada\n")
	c.Question, c.Thread, c.Attach = "", "t1", true
	require.NoError(t, c.run(cli.ExitDone))
	require.Equal(t, map[string]string{"q1": "Ada"}, resumeOf(t, s.Bodies()[1]))
	require.Equal(t, "Hello Ada.\n", c.out.String())

	again := newCall(t, s)
	again.Question, again.Thread, again.Attach, again.Format = "", "t1", true, cli.FormatJSONL
	require.NoError(t, again.run(cli.ExitDone))
	require.True(t, strings.HasPrefix(again.out.String(), `{"event":"metadata","id":"1-0"`), "the events are there for those who read them")
}

func TestPlainQuestionToAWaitingThread(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Script = []fakeserver.Run{askingRun(question("q1", "Name?")), {Messages: []thread.Message{ai("Hello.")}}}
	s.Known = []string{"t1"}
	first := newCall(t, s)
	first.Thread = "t1"
	first.ends(cli.ExitWaiting)
	c := newCall(t, s)
	c.Thread, c.Question = "t1", "Ada"
	require.NoError(t, c.run(cli.ExitDone))
	require.Contains(t, c.errOut.String(), "The thread waits for an answer")
}
