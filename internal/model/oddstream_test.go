package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// meant is an answer as its provider means it; a dialect is one of the odd but
// legal ways in which real providers write it.
type meant struct {
	text, reasoning string
	calls           []meantCall
	finish          string // "" when only the end mark says so
	usage           int    // total tokens, 0 when none are reported
}

type meantCall struct{ id, name, args string }

// drawMeant draws an answer. Text holds what is easily broken on the way:
// characters of several bytes, of two code units, escapes, angle brackets.
func drawMeant(t *rapid.T) meant {
	words := rapid.SampledFrom([]string{"Hello", " ", "研究", "😀", "\n", `"q"`, `\`, "a < b", "é", "0", "\t", "null", "[DONE]", "data: x"})
	text := rapid.Map(rapid.SliceOfN(words, 0, 5), func(w []string) string { return strings.Join(w, "") })
	m := meant{text: text.Draw(t, "text"), reasoning: text.Draw(t, "reasoning")}
	args := rapid.SampledFrom([]string{
		`{}`, `{"q":"a"}`, `{"q":"研究 😀"}`, `{"q":"say \"hi\" \\ {[ }"}`, ` {"q": "spaced"} `, `{"q":{"a":[1,{"b":null}]},"n":1e3}`, "{\n}",
	})
	for n := range rapid.IntRange(0, 3).Draw(t, "calls") {
		m.calls = append(m.calls, meantCall{
			id: fmt.Sprintf("x%d", n+1), name: rapid.SampledFrom([]string{"search", "ls"}).Draw(t, "name"), args: args.Draw(t, "args"),
		})
	}
	return m
}

// dialect is how an answer is written.
type dialect struct {
	index     string // of calls: right, large, negative, float, text, none, null, zero
	id        string // first, every, late, never, null, number
	name      string // first, every
	args      string // text, object
	flat      bool   // name and arguments beside the function object
	legacy    bool   // function_call
	mixed     bool   // calls are streamed at the same time
	content   string // text, parts, part, strings
	reasoning string // reasoning_content, reasoning, both, details, parts, think
	escape    bool   // everything that is not ASCII as \u
	finish    string // own, last, none, stop_reason
	early     bool   // the reason stands in every chunk
	usage     string // none, last, every, choice, groq
	framing   string // sse, lines, list, whole
	done      bool
	noise     bool
}

func drawDialect(t *rapid.T, m *meant) dialect {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	d := dialect{
		index: pick("index", "right", "large", "negative", "float", "text", "none", "null", "zero"),
		id:    pick("id", "first", "every", "late", "never", "null", "number"), name: pick("names", "first", "every"),
		args: pick("arguments", "text", "text", "object"), flat: yes("flat"), mixed: yes("mixed"),
		content:   pick("content", "text", "parts", "part", "strings"),
		reasoning: pick("channel", "reasoning_content", "reasoning", "both", "details", "parts", "think"),
		escape:    yes("escape"), finish: pick("finish", "own", "last", "none", "stop_reason"), early: yes("early"),
		usage: pick("usage", "none", "last", "every", "choice", "groq"), framing: pick("framing", "sse", "sse", "sse", "lines", "list", "whole"),
		done: yes("done"), noise: yes("noise"),
	}
	d.legacy = len(m.calls) == 1 && yes("legacy")
	d.settle(m)
	return d
}

// settle takes out what nobody could understand, and tells the answer what the
// dialect leaves unsaid.
func (d *dialect) settle(m *meant) {
	if d.framing != "sse" {
		d.done = false
	}
	if d.finish == "none" && !d.done && d.framing != "whole" {
		d.finish = "own"
	}
	if d.legacy {
		d.id, d.index = "never", "none"
	}
	placed := d.index == "right" || d.index == "large" || d.index == "negative" || d.index == "float" || d.index == "text"
	d.mixed = d.mixed && (placed || d.id == "every" && d.index != "zero")
	switch {
	case d.finish == "none":
	case len(m.calls) > 0:
		m.finish = "tool_calls"
	default:
		m.finish = "stop"
	}
	d.early = d.early && m.finish != "" && d.finish == "own"
	if d.usage != "none" {
		m.usage = 7
	}
	if d.reasoning == "think" && m.reasoning != "" && d.framing != "whole" {
		m.text = strings.TrimLeft(m.text, " \t\r\n") // the blanks behind a tag belong to it
	}
	if d.reasoning == "think" && d.framing == "whole" {
		d.reasoning = "reasoning_content"
	}
	for i := range m.calls {
		c := &m.calls[i]
		switch d.id {
		case "never", "null":
			c.id = ""
		case "number":
			c.id = fmt.Sprint(100 + i)
		}
	}
}

// atoms writes a text as pieces of a JSON string that may be cut apart: escapes
// stay whole, but characters do not.
func (d *dialect) atoms(text string) []string {
	var out []string
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			quoted, err := json.Marshal(string(r))
			if err != nil {
				panic(err)
			}
			out = append(out, string(quoted[1:len(quoted)-1]))
		case d.escape:
			for _, unit := range utf16.Encode([]rune{r}) {
				out = append(out, fmt.Sprintf(`\u%04x`, unit))
			}
		default:
			for _, b := range []byte(string(r)) {
				out = append(out, string([]byte{b}))
			}
		}
	}
	return out
}

// pieces cuts a text into JSON strings; joined they are the text.
func (d *dialect) pieces(t *rapid.T, text string) []string {
	atoms := d.atoms(text)
	var out []string
	for len(atoms) > 0 {
		n := rapid.IntRange(1, len(atoms)).Draw(t, "piece")
		out = append(out, `"`+strings.Join(atoms[:n], "")+`"`)
		atoms = atoms[n:]
	}
	return out
}

// chunks writes an answer as the JSON objects of a stream.
func (d *dialect) chunks(t *rapid.T, m *meant) []string {
	deltas := d.deltas(t, m)
	if d.noise {
		deltas = withEmpty(t, deltas)
	}
	if len(deltas) == 0 {
		deltas = []string{`"role":"assistant","content":null`}
	}
	if d.finish == "own" || d.finish == "stop_reason" {
		deltas = append(deltas, "")
	}
	var out []string
	for i, delta := range deltas {
		last := i == len(deltas)-1
		out = append(out, d.chunk(t, m, delta, last))
	}
	if d.usage == "last" || d.usage == "every" {
		out = append(out, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`)
	}
	if d.noise {
		odd := []string{`{"choices":null}`, `{"id":7,"object":null,"created":1.5e9,"choices":[]}`, `{"choices":[{"index":0,"delta":null}]}`, `{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]}`}
		at := rapid.IntRange(0, len(out)-1).Draw(t, "noise at")
		out = append(out[:at:at], append([]string{rapid.SampledFrom(odd).Draw(t, "noise chunk")}, out[at:]...)...)
	}
	return out
}

func withEmpty(t *rapid.T, deltas []string) []string {
	empty := rapid.SampledFrom([]string{``, `"content":""`, `"content":null`, `"role":"assistant"`, `"tool_calls":null`, `"tool_calls":[]`, `"function_call":null`, `"refusal":null`, `"content":[]`, `"odd":{"a":[1]}`})
	var out []string
	for _, delta := range deltas {
		if rapid.Bool().Draw(t, "empty before") {
			out = append(out, empty.Draw(t, "empty"))
		}
		out = append(out, delta)
	}
	return out
}

func (d *dialect) chunk(t *rapid.T, m *meant, delta string, last bool) string {
	fields := []string{`"index":0`, `"delta":{` + delta + `}`}
	if d.noise && rapid.Bool().Draw(t, "no index") {
		fields = fields[1:]
	}
	switch {
	case d.finish == "stop_reason" && last:
		fields = append(fields, `"finish_reason":null`, `"stop_reason":"`+m.finish+`"`)
	case m.finish != "" && (last || d.early):
		fields = append(fields, `"finish_reason":"`+m.finish+`"`)
	case d.noise:
		fields = append(fields, `"finish_reason":`+rapid.SampledFrom([]string{`null`, `""`}).Draw(t, "no reason"), `"logprobs":null`)
	}
	top := ""
	const full, none = `{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}`, `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`
	switch {
	case d.usage == "every":
		top = `,"usage":` + none
	case d.usage == "groq" && last:
		top = `,"x_groq":{"usage":` + full + `}`
	case d.usage == "choice" && last:
		fields = append(fields, `"usage":`+full)
	}
	return `{"id":"c","model":"m","choices":[{` + strings.Join(fields, ",") + `}]` + top + `}`
}

// deltas are the inner parts of delta objects: reasoning, text, calls.
func (d *dialect) deltas(t *rapid.T, m *meant) []string {
	var out []string
	if m.reasoning != "" {
		if d.reasoning == "think" {
			tagged := m.reasoning + "</think>" + m.text
			for _, p := range d.pieces(t, "<think>"+tagged) {
				out = append(out, d.contentOf(p))
			}
			return append(out, d.callDeltas(t, m)...)
		}
		for _, p := range d.pieces(t, m.reasoning) {
			out = append(out, d.reasoningOf(p))
		}
	}
	for _, p := range d.pieces(t, m.text) {
		out = append(out, d.contentOf(p))
	}
	return append(out, d.callDeltas(t, m)...)
}

func (d *dialect) reasoningOf(piece string) string {
	switch d.reasoning {
	case "reasoning":
		return `"reasoning":` + piece
	case "both":
		return `"reasoning":` + piece + `,"reasoning_content":` + piece
	case "details":
		return `"reasoning_details":[{"type":"reasoning.text","index":0,"text":` + piece + `}]`
	case "parts":
		return `"content":[{"type":"thinking","thinking":` + piece + `}]`
	}
	return `"reasoning_content":` + piece
}

func (d *dialect) contentOf(piece string) string {
	switch d.content {
	case "parts":
		return `"content":[{"type":"text","text":` + piece + `}]`
	case "part":
		return `"content":{"type":"text","text":` + piece + `}`
	case "strings":
		return `"content":[` + piece + `]`
	}
	return `"content":` + piece
}

// callDeltas streams the calls, one after the other or mixed.
func (d *dialect) callDeltas(t *rapid.T, m *meant) []string {
	var streams [][]string
	for i := range m.calls {
		streams = append(streams, d.callPieces(t, i, m.calls[i]))
	}
	// Calls begin in their order, however mixed they are after that.
	var entries []string
	if d.mixed {
		for i := range streams {
			entries = append(entries, streams[i][0])
			streams[i] = streams[i][1:]
		}
	}
	for {
		streams = slices.DeleteFunc(streams, func(s []string) bool { return len(s) == 0 })
		if len(streams) == 0 {
			break
		}
		at := 0
		if d.mixed {
			at = rapid.IntRange(0, len(streams)-1).Draw(t, "stream")
		}
		entries = append(entries, streams[at][0])
		streams[at] = streams[at][1:]
	}
	var out []string
	for len(entries) > 0 {
		if d.legacy {
			out, entries = append(out, `"function_call":`+entries[0]), entries[1:]
			continue
		}
		n := rapid.IntRange(1, len(entries)).Draw(t, "entries")
		out, entries = append(out, `"tool_calls":[`+strings.Join(entries[:n], ",")+`]`), entries[n:]
	}
	return out
}

// callPieces are the entries of one call.
func (d *dialect) callPieces(t *rapid.T, n int, c meantCall) []string {
	args := d.pieces(t, c.args)
	if d.args == "object" {
		args = []string{strings.TrimSpace(c.args)}
	}
	if c.args == "{}" && d.told() && rapid.Bool().Draw(t, "no arguments") {
		args = rapid.SampledFrom([][]string{nil, {`""`}, {`null`}}).Draw(t, "nothing")
	}
	if len(args) == 0 || rapid.Bool().Draw(t, "name alone") {
		args = append([]string{""}, args...)
	}
	var out []string
	for i, a := range args {
		out = append(out, d.entry(n, c, i == 0, a))
	}
	if d.id == "late" {
		out = append(out, d.lateID(n, c))
	}
	return out
}

// told reports whether calls can be told apart without looking at their
// arguments.
func (d *dialect) told() bool {
	switch d.index {
	case "none", "null", "zero":
		return d.id == "first" || d.id == "every" || d.id == "number"
	}
	return true
}

func (d *dialect) entry(n int, c meantCall, first bool, args string) string {
	var fields, inner []string
	fields = d.place(fields, n)
	switch {
	case d.id == "null":
		fields = append(fields, `"id":null`)
	case d.id == "every" || first && d.id == "first":
		fields = append(fields, `"id":"`+c.id+`"`)
	case d.id == "number" && first:
		fields = append(fields, `"id":`+c.id)
	}
	if first || d.name == "every" {
		inner = append(inner, `"name":"`+c.name+`"`)
	}
	if args != "" {
		inner = append(inner, `"arguments":`+args)
	}
	if d.flat || d.legacy {
		return `{` + strings.Join(append(fields, inner...), ",") + `}`
	}
	return `{` + strings.Join(append(fields, `"type":"function"`, `"function":{`+strings.Join(inner, ",")+`}`), ",") + `}`
}

func (d *dialect) lateID(n int, c meantCall) string {
	return `{` + strings.Join(append(d.place(nil, n), `"id":"`+c.id+`"`), ",") + `}`
}

func (d *dialect) place(fields []string, n int) []string {
	switch d.index {
	case "none":
		return fields
	case "null":
		return append(fields, `"index":null`)
	case "zero":
		n = 0
	case "large":
		n = 2_000_000_000 + n*1_000_000_000
	case "negative":
		n = -1 - n
	case "float":
		return append(fields, fmt.Sprintf(`"index":%d.0`, n))
	case "text":
		return append(fields, fmt.Sprintf(`"index":"%d"`, n))
	}
	return append(fields, fmt.Sprintf(`"index":%d`, n))
}

// write puts an answer on the wire.
func (d *dialect) write(t *rapid.T, m *meant) []byte {
	if d.framing == "whole" {
		return []byte(d.whole(m))
	}
	chunks := d.chunks(t, m)
	switch d.framing {
	case "lines":
		return []byte(strings.Join(chunks, rapid.SampledFrom([]string{"\n", "", "\r\n", " \n\n"}).Draw(t, "between")))
	case "list":
		return []byte("[" + strings.Join(chunks, ",\n") + "]")
	}
	if d.done {
		chunks = append(chunks, "[DONE]")
	}
	return d.sse(t, chunks)
}

// whole is an answer that is not streamed.
func (d *dialect) whole(m *meant) string {
	one := func(text string) string { return `"` + strings.Join(d.atoms(text), "") + `"` }
	fields := []string{`"role":"assistant"`}
	if m.text != "" {
		fields = append(fields, d.contentOf(one(m.text)))
	}
	if m.reasoning != "" && (d.reasoning != "parts" || m.text == "") {
		fields = append(fields, d.reasoningOf(one(m.reasoning)))
	} else {
		m.reasoning = ""
	}
	var calls []string
	for i, c := range m.calls {
		args := one(c.args)
		if d.args == "object" {
			args = c.args
		}
		entry := d.entry(i, c, true, args)
		if d.id == "late" {
			entry = strings.TrimSuffix(entry, "}") + `,"id":"` + c.id + `"}`
		}
		calls = append(calls, entry)
	}
	switch {
	case d.legacy:
		fields = append(fields, `"function_call":`+calls[0])
	case len(calls) > 0:
		fields = append(fields, `"tool_calls":[`+strings.Join(calls, ",")+`]`)
	}
	reason := "null"
	if m.finish != "" {
		reason = `"` + m.finish + `"`
	}
	m.usage = 7
	return `{"choices":[{"index":0,"message":{` + strings.Join(fields, ",") + `},"finish_reason":` + reason + `}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`
}

// sse frames chunks as server-sent events.
func (d *dialect) sse(t *rapid.T, chunks []string) []byte {
	prefix := rapid.SampledFrom([]string{"data: ", "data:"}).Draw(t, "prefix")
	end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end")
	blank := rapid.SampledFrom([]string{end, end, ""}).Draw(t, "blank line")
	before := rapid.SampledFrom([]string{"", "", ": ping", "event: message", "id: 7", "retry: 3000", "nonsense"})
	var out bytes.Buffer
	if rapid.Bool().Draw(t, "mark") {
		out.WriteString("\xEF\xBB\xBF")
	}
	for _, c := range chunks {
		if line := before.Draw(t, "before"); line != "" {
			out.WriteString(line + end)
		}
		var lines bytes.Buffer
		if !d.noise || json.Indent(&lines, []byte(c), "", "") != nil {
			lines.Reset()
			lines.WriteString(c)
		}
		for line := range strings.SplitSeq(lines.String(), "\n") {
			out.WriteString(prefix + line + end)
		}
		out.WriteString(blank)
	}
	return out.Bytes()
}
