package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// readRaw reads one answer from a body.
func readRaw(body io.Reader) *heard {
	h := &heard{}
	a := &assembly{emit: func(d Delta) error { h.deltas = append(h.deltas, d); return nil }}
	h.err = readAnswer(a, body, newWatch(func(error) {}, 0))
	if h.err == nil {
		h.resp, h.err = a.response(answerContext{configured: "big", tools: testTools(), scope: "s"})
	}
	var e *Error
	if h.err != nil && !errors.As(h.err, &e) {
		h.err = failedRead(h.err)
	}
	return h
}

// calls writes the calls of an answer in one line.
func spellCalls(h *heard) string {
	var out strings.Builder
	for _, c := range h.resp.Message.ToolCalls {
		out.WriteString(c.ID + " " + c.Name + " " + string(c.Args) + "\n")
	}
	for _, c := range h.resp.Message.InvalidToolCalls {
		out.WriteString("invalid " + c.ID + " " + c.Name + " " + c.Args + "\n")
	}
	return out.String()
}

func requireMeant(t tester, m *meant, h *heard) {
	t.Helper()
	require.NoError(t, h.err)
	got := &h.resp.Message
	require.Equal(t, m.text, got.Content.String())
	require.Equal(t, m.reasoning, got.Reasoning())
	require.Empty(t, got.InvalidToolCalls)
	require.Len(t, got.ToolCalls, len(m.calls))
	for i, c := range m.calls {
		if c.id == "" {
			c.id = madeID("s", i)
		}
		require.Equal(t, c.id, got.ToolCalls[i].ID)
		require.Equal(t, c.name, got.ToolCalls[i].Name)
		require.JSONEq(t, c.args, string(got.ToolCalls[i].Args))
	}
	want := m.finish
	if want == "" {
		want = map[bool]string{true: "tool_calls", false: "stop"}[len(m.calls) > 0]
	}
	require.Equal(t, want, h.resp.FinishReason)
	require.Equal(t, m.usage, h.resp.Usage.TotalTokens)
}

// However a provider writes an answer, and however the network cuts it into
// reads, it is the same answer (A05, A07, A08, A09, A11, A13, A18).
func anyDialect(t *rapid.T) {
	m := drawMeant(t)
	d := drawDialect(t, &m)
	raw := d.write(t, &m)
	h := readRaw(bytes.NewReader(raw))
	if h.err != nil {
		t.Logf("%s", raw)
	}
	requireMeant(t, &m, h)
	requireConsistent(t, h)
	for _, body := range []io.Reader{iotest.OneByteReader(bytes.NewReader(raw)), &ragged{t: t, rest: raw}, iotest.DataErrReader(bytes.NewReader(raw))} {
		again := readRaw(body)
		requireMeant(t, &m, again)
	}
}

// An answer that is cut is the whole answer or a failure that is tried again,
// never a part of it (A01).
func anyCut(t *rapid.T) {
	m := drawMeant(t)
	d := drawDialect(t, &m)
	d.early = false // whoever ends every chunk cannot be told from one who was cut
	raw := d.write(t, &m)
	whole := readRaw(bytes.NewReader(raw))
	requireMeant(t, &m, whole)
	stride := rapid.IntRange(1, 15).Draw(t, "stride") // every byte would take too long, every time
	for n := rapid.IntRange(0, stride-1).Draw(t, "first cut"); n < len(raw); n += stride {
		for _, body := range []io.Reader{bytes.NewReader(raw[:n]), io.MultiReader(bytes.NewReader(raw[:n]), iotest.ErrReader(io.ErrUnexpectedEOF))} {
			h := readRaw(body)
			if h.err != nil {
				var e *Error
				require.ErrorAs(t, h.err, &e)
				require.True(t, e.Retryable, "cut at %d: %v", n, e)
				continue
			}
			require.Equal(t, whole.resp.Message.Content.String(), h.resp.Message.Content.String(), "cut at %d", n)
			require.Equal(t, whole.resp.Message.Reasoning(), h.resp.Message.Reasoning(), "cut at %d", n)
			require.Equal(t, spellCalls(whole), spellCalls(h), "cut at %d", n)
		}
	}
}

func TestA05AnyDialectIsTheSameAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyDialect)
}

func TestA01AnyCutIsTheAnswerOrARetry(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyCut)
}

// FuzzDialects lets the fuzzer choose what rapid draws.
func FuzzDialects(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyDialect)) }

// FuzzCuts is the same for cut answers.
func FuzzCuts(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyCut)) }

// ragged gives out a body in reads of any size.
type ragged struct {
	t    *rapid.T
	rest []byte
}

func (r *ragged) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), rapid.IntRange(1, 40).Draw(r.t, "read"))], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// The dialects are told apart by what they write: each must be drawn.
func TestDialectsAreAllDrawn(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	note := func(field, value string) { seen[field+" "+value]++ }
	gen := rapid.Custom(func(t *rapid.T) dialect {
		m := drawMeant(t)
		d := drawDialect(t, &m)
		if len(m.calls) > 1 && d.framing == "sse" {
			note("index", d.index)
			note("id", d.id)
			note("name", d.name)
			note("args", d.args)
			note("mixed", string(mustMarshal(d.mixed)))
		}
		if m.text != "" && m.reasoning != "" && d.framing == "sse" {
			note("content", d.content)
			note("reasoning", d.reasoning)
		}
		note("legacy", string(mustMarshal(d.legacy)))
		note("framing", d.framing)
		note("finish", d.finish)
		note("usage", d.usage)
		return d
	})
	for seed := range 1500 {
		gen.Example(seed)
	}
	for _, want := range []string{
		"index right", "index large", "index negative", "index float", "index text", "index none", "index null", "index zero",
		"id first", "id every", "id late", "id never", "id null", "id number", "name first", "name every", "args text", "args object",
		"mixed true", "mixed false", "legacy true", "content text", "content parts", "content part", "content strings",
		"reasoning reasoning_content", "reasoning reasoning", "reasoning both", "reasoning details", "reasoning parts", "reasoning think",
		"framing sse", "framing lines", "framing list", "framing whole", "finish own", "finish last", "finish none", "finish stop_reason",
		"usage none", "usage last", "usage every", "usage choice", "usage groq",
	} {
		require.GreaterOrEqual(t, seen[want], 10, want)
	}
}

func mustMarshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
