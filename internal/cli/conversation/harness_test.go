package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"deerflow/internal/cli"
	"deerflow/internal/cli/fakeserver"
	"deerflow/internal/thread"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A read of standard input cannot be cut short: it ends with the process.
		goleak.IgnoreAnyFunction("deerflow/internal/cli.(*LineReader).read.func1"))
}

// buffer is read while it is written to.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// call is one conversation in a test.
type call struct {
	Options
	t           *testing.T
	out, errOut buffer
	signals     chan os.Signal
	exits       chan int
}

// newCall is a conversation with a server, in a data directory of its own, and with nothing on standard input.
func newCall(t *testing.T, s *fakeserver.Server) *call {
	t.Helper()
	c := &call{t: t, signals: make(chan os.Signal, 2), exits: make(chan int, 1)}
	c.Options = Options{
		Deps: Deps{
			IOStreams: cli.IOStreams{In: strings.NewReader(""), Out: &c.out, ErrOut: &c.errOut},
			Env:       func(string) string { return "" }, Signals: c.signals, Exit: func(code int) { c.exits <- code },
			DefaultServer: "http://127.0.0.1:1",
		},
		Question: "Why?", DataDir: t.TempDir(),
	}
	if s != nil {
		c.Server = s.URL
	}
	return c
}

func (c *call) stdin(text string) *call {
	c.In = strings.NewReader(text)
	return c
}

// run holds the conversation, which must end with code, and returns its error.
func (c *call) run(code cli.ExitCode) error {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	err := Run(ctx, c.Options)
	require.NoError(c.t, ctx.Err(), "the conversation hangs; its progress was:\n%s", &c.errOut)
	require.Equal(c.t, code, cli.CodeOf(err, -1), "error: %v\nprogress:\n%s", err, &c.errOut)
	return err
}

// ends holds the conversation, which must end with code.
func (c *call) ends(code cli.ExitCode) {
	c.t.Helper()
	_ = c.run(code)
}

// interruptAt sends a signal as soon as the progress shows text.
func (c *call) interruptAt(text string) *call {
	go func() {
		for !strings.Contains(c.errOut.String(), text) && c.t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		c.signals <- syscall.SIGINT
	}()
	return c
}

// progress is what stood on ErrOut, with the ids that differ from run to run made equal.
func (c *call) progress() string {
	text := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(c.errOut.String(), "THREAD")
	text = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).ReplaceAllString(text, "http://SERVER")
	return regexp.MustCompile(`(?m)(✓ \S+) \d+\.\ds$`).ReplaceAllString(text, "$1 0.0s")
}

// result is the JSON object on Out.
func (c *call) result() Result {
	c.t.Helper()
	var r Result
	dec := json.NewDecoder(strings.NewReader(c.out.String()))
	require.NoError(c.t, dec.Decode(&r), c.out.String())
	_, err := dec.Token()
	require.ErrorIs(c.t, err, io.EOF, "there must be nothing beside the object:\n%s", &c.out)
	return r
}

func (c *call) file(name, content string) string {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), name)
	require.NoError(c.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func ai(text string) thread.Message {
	return thread.Message{ID: "answer", Role: thread.RoleAI, Content: thread.Text(text)}
}

// readingRun reads a file, presents a report and answers.
func readingRun() fakeserver.Run {
	return fakeserver.Run{
		Events: []string{
			`messages [{"type":"AIMessageChunk","id":"m1","content":"I look at it.","tool_call_chunks":[{"name":"read_file","args":"{\"path\":\"README.md\"}","id":"c1","index":0}],"chunk_position":"last"},{}]`,
			`messages [{"type":"tool","name":"read_file","id":"m2","tool_call_id":"c1","content":"text","status":"success"},{}]`,
			`updates {"tools":{"artifacts":["/mnt/user-data/outputs/report.md"]}}`,
			`messages [{"type":"AIMessageChunk","id":"m3","content":"It is "},{}]`,
			`messages [{"type":"AIMessageChunk","id":"m3","content":"good."},{}]`,
		},
		Messages:  []thread.Message{thread.Human("q", "Why?"), ai("It is good.")},
		Artifacts: []string{"/mnt/user-data/outputs/old.md", "/mnt/user-data/outputs/report.md"},
		Tokens:    20,
	}
}

func question(id, text string, options ...string) thread.Interrupt {
	card := thread.Card{Version: 1, Kind: "human_input_request", RequestID: id, Question: text, InputMode: thread.InputFreeText}
	for i, label := range options {
		card.InputMode = thread.InputChoice
		card.Options = append(card.Options, thread.Option{ID: "option-" + string(rune('1'+i)), Label: label, Value: label})
	}
	return thread.Interrupt{ID: id, Value: card}
}

// askingRun ends with questions.
func askingRun(questions ...thread.Interrupt) fakeserver.Run {
	call := thread.Message{Role: thread.RoleAI, ToolCalls: []thread.ToolCall{{ID: "c1", Name: "ask_clarification", Args: json.RawMessage("{}")}}}
	return fakeserver.Run{
		Messages:  []thread.Message{thread.Human("q", "Why?"), call, thread.ToolResult("a", thread.ToolCall{ID: "c1", Name: "ask_clarification"}, thread.ToolSuccess, "?")},
		Questions: questions, Tokens: 10,
	}
}

func answeringRun(text string) fakeserver.Run {
	return fakeserver.Run{Messages: []thread.Message{thread.Human("q", "Why?"), ai(text)}, Tokens: 10}
}
