package testkit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// streamed is a valid request for a stream.
const streamed = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`

func asking(text string) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, text)
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// post sends a chat request; the answer's body is closed when the test ends.
func post(ctx context.Context, t *testing.T, m *Model, body string) *http.Response {
	t.Helper()
	res, err := tryPost(ctx, t, m, body)
	require.NoError(t, err)
	return res
}

func tryPost(ctx context.Context, t *testing.T, m *Model, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL()+"/chat/completions", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer key")
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	res, err := client.Do(req)
	if err == nil {
		t.Cleanup(func() { _ = res.Body.Close() })
	}
	return res, err
}

func read(t *testing.T, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(data)
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		require.Fail(t, "did not happen: "+what)
	}
}

func TestModelRecordsRequests(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.Enqueue(Text("Hello"))
	request := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0,
		"messages":[{"role":"system","content":"Sys"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"a","name":"ls","content":"out"}],
		"tools":[{"type":"function","function":{"name":"ls","description":"list","parameters":{"type":"object","properties":{}}}}]}`
	before := time.Now()
	read(t, post(testContext(t), t, m, request))

	got, err := m.Await(testContext(t), 1)
	require.NoError(t, err)
	await(t, got.Done(), "the end of the reply")
	require.Equal(t, 1, got.N)
	require.Equal(t, request, string(got.Body))
	require.Equal(t, "Bearer key", got.Header.Get("Authorization"))
	require.WithinRange(t, got.Time, before, got.EndedAt())
	require.True(t, got.Completed())
	require.Equal(t, []any{"m", true, true}, []any{got.Model, got.Stream, got.IncludeUsage})
	require.Equal(t, "0", string(got.Params["temperature"]))
	require.Equal(t, "Sys", got.System())
	require.Equal(t, "a\nb", got.LastUser())
	require.Equal(t, 1, got.Turn())
	require.Equal(t, "hm", got.Messages[2].Reasoning)
	require.Equal(t, "ls", got.Messages[2].ToolCalls[0].Name)
	require.Equal(t, "list", got.Tools[0].Description)
	result, found := got.ToolResult("a")
	require.True(t, found)
	require.Equal(t, "out", result)
	_, found = got.ToolResult("b")
	require.False(t, found)
	_, closed := got.ClosedAt()
	require.False(t, closed)
}

func TestLastUserIsTheUsersOwnWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"hello": "hello",
		"<system-reminder>x</system-reminder>\n\n--- BEGIN USER INPUT ---\none\ntwo\n--- END USER INPUT ---": "one\ntwo",
		"--- BEGIN USER INPUT ---\nno end": "--- BEGIN USER INPUT ---\nno end",
	} {
		require.Equal(t, want, userWords(in))
	}
}

func TestModelListsModelsAndRefusesOtherPaths(t *testing.T) {
	t.Parallel()
	m := NewModel(t, WithModels("one", "two"))
	get := func(path string) *http.Response {
		req, err := http.NewRequestWithContext(testContext(t), http.MethodGet, m.URL()+path, http.NoBody)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	var list struct {
		Data []struct{ ID string }
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, get("/models"))), &list))
	require.Equal(t, "two", list.Data[1].ID)
	require.Equal(t, http.StatusNotFound, get("/embeddings").StatusCode)
	require.Equal(t, http.StatusNotFound, get("/chat/completions").StatusCode)
	require.Len(t, m.RequestsTo(func(*Request) bool { return true }), 3)
}

func TestModelScripts(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.On(LastUser("thread-1")).Enqueue(Text("first"), Text("second"))
	m.On(AllOf(ForModel("m"), Not(HasTools()), AnyMessage("title"))).Always(Text("a title"))
	m.On(System("nothing")).Always(Text("wrong"))
	m.Respond(func(r *Request) Reply { return Text("echo " + r.LastUser()) })
	m.Enqueue(Text("queued"))

	for _, c := range []struct{ ask, want string }{
		{"x", "queued"},
		{"x", "echo x"},
		{"thread-1", "first"},
		{"title", "a title"},
		{"thread-1", "second"},
		{"thread-1", "echo thread-1"},
	} {
		require.Contains(t, read(t, post(testContext(t), t, m, asking(c.ask))), `"content":"`+c.want+`"`)
	}
	require.Zero(t, m.Remaining())
	m.Enqueue(Text("left"))
	require.Equal(t, 1, m.Remaining())
	require.Len(t, m.Requests(), 6)
}

func TestModelByTurnRepeatsItself(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.Respond(ByTurn(ToolCalls(Call{ID: "a", Name: "ls"}), Text("done")))
	second := body(userMsg, calls("a"), resultA)
	third := body(userMsg, calls("a"), resultA, calls("b"), resultB)
	for _, c := range []struct{ request, want string }{
		{body(userMsg), "tool_calls"},
		{body(userMsg), "tool_calls"},
		{second, "done"},
		{third, "done"},
		{body(userMsg, aiMsg, userMsg), "tool_calls"},
	} {
		require.Contains(t, read(t, post(testContext(t), t, m, c.request)), c.want)
	}
}

func TestModelUnscriptedRequestFailsTheTest(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	m := NewModel(s)
	res := post(testContext(t), t, m, asking("anybody there?"))
	require.Equal(t, http.StatusBadRequest, res.StatusCode)
	require.Contains(t, s.text(), "no reply is scripted for request 1")
	require.Contains(t, s.text(), "anybody there?")
}

func TestModelPanickingScriptFailsTheTest(t *testing.T) {
	t.Parallel()
	s := newSpy(t)
	m := NewModel(s)
	m.Respond(func(*Request) Reply { panic("oh") })
	_, err := tryPost(testContext(t), t, m, streamed)
	require.Error(t, err)
	require.Contains(t, s.text(), "panic: oh")
}

func TestGateHoldsTheReply(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	gate := NewGate()
	m.Enqueue(Text("abcd", WithChunks(4), At(2, Hold(gate))))
	res := post(testContext(t), t, m, streamed)
	await(t, gate.Reached(), "the gate")
	lines := bufio.NewScanner(res.Body)
	var seen strings.Builder
	for !strings.Contains(seen.String(), `"b"`) {
		require.True(t, lines.Scan())
		seen.WriteString(lines.Text())
	}
	require.NotContains(t, seen.String(), `"c"`)
	r := m.Requests()[0]
	select {
	case <-r.Done():
		require.Fail(t, "the reply ended at the gate")
	default:
	}
	gate.Release()
	gate.Release()
	for lines.Scan() {
		seen.WriteString(lines.Text())
	}
	require.Contains(t, seen.String(), `"d"`)
	require.Contains(t, seen.String(), "[DONE]")
	require.Equal(t, 1, gate.Arrivals())
	await(t, r.Done(), "the end")
	require.True(t, r.Completed())
}

func TestModelSeesTheClientClose(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]Reply{
		"in the stream":    Text("ab", WithChunks(2), At(1, Hang())),
		"ahead of headers": Text("ab").Before(Hang()),
		"at a gate":        Text("ab", At(0, Hold(NewGate()))),
		"in a pause":       Text("ab", WithDelay(time.Hour)),
		"while it is writing": Steps(Do(func() {}), Step{func(x *exchange) error {
			for {
				if err := Comment("ping").do(x); err != nil {
					return err
				}
			}
		}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewModel(t)
			m.Enqueue(reply)
			ctx, cancel := context.WithCancel(testContext(t))
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				res, err := tryPost(ctx, t, m, streamed) //nolint:testifylint // it fails the test from any goroutine
				if err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
				}
			}()
			r, err := m.Await(testContext(t), 1)
			require.NoError(t, err)
			before := time.Now()
			cancel()
			await(t, r.Closed(), "the close")
			await(t, r.Done(), "the end")
			<-gone
			at, closed := r.ClosedAt()
			require.True(t, closed)
			require.False(t, at.Before(before))
			require.False(t, r.Completed())
		})
	}
}

func TestModelClosesHangingRepliesWithTheTest(t *testing.T) {
	t.Parallel()
	var r *Request
	t.Run("inner", func(t *testing.T) {
		m := NewModel(t)
		m.Enqueue(Text("a").Before(Hang()))
		go func() {
			_, _ = tryPost(context.Background(), t, m, streamed) //nolint:testifylint // fails when the server goes
		}()
		var err error
		r, err = m.Await(testContext(t), 1)
		require.NoError(t, err)
	})
	await(t, r.Done(), "the end")
	require.False(t, r.Completed())
}

func TestConnectionEndings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step Step
		want error
	}{
		"A01 clean end": {End(), nil},
		"A01 cut":       {Cut(), io.ErrUnexpectedEOF},
		"reset":         {Reset(), syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewModel(t)
			gate := NewGate()
			m.Enqueue(Text("Partial ans", At(1, Hold(gate), c.step)))
			res := post(testContext(t), t, m, streamed)
			part := make([]byte, 512)
			var seen strings.Builder
			for !strings.Contains(seen.String(), "Partial ans\"},\"finish_reason\":null}]}\n\n") {
				n, err := res.Body.Read(part)
				require.NoError(t, err)
				seen.Write(part[:n])
			}
			gate.Release()
			rest, err := io.ReadAll(res.Body)
			require.Empty(t, rest)
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
			r := m.Requests()[0]
			await(t, r.Done(), "the end")
			_, closed := r.ClosedAt()
			require.False(t, closed, "the server closed, not the client")
		})
	}
}

func TestConnectionEndsAheadOfTheHeaders(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	m.Enqueue(Text("never").Before(Cut()), Text("never").Before(Reset()))
	_, err := tryPost(testContext(t), t, m, streamed)
	require.ErrorIs(t, err, io.EOF)
	_, err = tryPost(testContext(t), t, m, streamed)
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestModelServesManyAtOnce(t *testing.T) {
	t.Parallel()
	const threads, turns = 20, 5
	m := NewModel(t)
	for i := range threads {
		m.On(LastUser(fmt.Sprintf("thread %d.", i))).Enqueue(Text(fmt.Sprintf("answer %d.", i)), Text("x"), Text("x"), Text("x"), Text("x"))
	}
	var group sync.WaitGroup
	failures := make(chan error, threads*turns)
	for i := range threads {
		group.Go(func() {
			for turn := range turns {
				res, err := tryPost(testContext(t), t, m, asking(fmt.Sprintf("thread %d.", i)))
				if err != nil {
					failures <- err
					continue
				}
				text, err := io.ReadAll(res.Body)
				if turn == 0 && !strings.Contains(string(text), fmt.Sprintf("answer %d.", i)) {
					err = errors.Join(err, fmt.Errorf("thread %d got %s", i, text))
				}
				failures <- err
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	require.Zero(t, m.Remaining())
	for i, r := range m.Requests() {
		require.Equal(t, i+1, r.N)
	}
	_, err := m.Await(testContext(t), threads*turns)
	require.NoError(t, err)
}

func TestAwaitSaysHowManyCame(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := m.Await(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "0 came so far")
}
