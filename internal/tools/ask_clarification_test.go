package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func ask(t *testing.T, k *kit, args any) thread.Card {
	t.Helper()
	r := k.call("ask_clarification", args)
	require.False(t, r.Error, r.Text)
	require.NotNil(t, r.Interrupt)
	require.NotContains(t, r.Kwargs, KeyMeta)
	var artifact struct {
		Card thread.Card `json:"human_input"`
	}
	require.NoError(t, json.Unmarshal(r.Artifact, &artifact))
	require.Equal(t, artifact.Card, r.Interrupt.Value)
	require.Equal(t, artifact.Card.RequestID, r.Interrupt.ID)
	return artifact.Card
}

func labels(options []thread.Option) []string {
	var out []string
	for i, o := range options {
		if o.ID != fmt.Sprintf("option-%d", i+1) {
			out = append(out, "wrong id "+o.ID)
		}
		out = append(out, o.Label)
	}
	return out
}

func TestAskClarification(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	card := ask(t, k, a{"question": " Which year? ", "clarification_type": "missing_info"})
	require.Equal(t, thread.Card{
		Version: 1, Kind: "human_input_request", Source: "ask_clarification", RequestID: "clarification:call-1", ToolCallID: "call-1",
		ClarificationType: "missing_info", Question: "Which year?", InputMode: thread.InputFreeText,
	}, card)
	require.Equal(t, card, ask(t, k, a{"question": " Which year? ", "clarification_type": "missing_info"}), "10.15-4")

	require.Equal(t, "❓ Which year?", k.ok("ask_clarification", a{"question": "Which year?"}))
	require.Equal(t, "🔀 Both work.\n\nWhich one?\n\n  1. A\n  2. B", k.ok("ask_clarification", a{
		"question": "Which one?", "context": "Both work.", "clarification_type": "approach_choice", "options": []string{"A", "B"},
	}))
	for kind, icon := range map[string]string{
		"missing_info": "❓", "ambiguous_requirement": "🤔", "approach_choice": "🔀", "risk_confirmation": "⚠️", "suggestion": "💡", "other": "❓",
	} {
		require.Equal(t, icon+" q", k.ok("ask_clarification", a{"question": "q", "clarification_type": kind}))
	}
	for _, garbage := range []any{a{"x": 1}, []int{1}, 5, nil, "nonsense"} { // 10.15-2
		require.Equal(t, "missing_info", ask(t, k, a{"question": "q", "clarification_type": garbage}).ClarificationType)
	}
	k.fails("ask_clarification", a{"clarification_type": "missing_info"}, `"question"`)
	k.fails("ask_clarification", a{"question": "  "}, `"question"`)
	long := ask(t, k, a{"question": strings.Repeat("字", 50_000), "context": strings.Repeat("x", 50_000)})
	require.Len(t, []rune(long.Question), maxQuestion)
	require.Len(t, long.Context, maxQuestion)

	k.env.CallID = ""
	first := ask(t, k, a{"question": "q"})
	require.Regexp(t, `^clarification:[0-9a-f]{16}$`, first.RequestID)
	require.Equal(t, first.RequestID, ask(t, k, a{"question": "q"}).RequestID)
	require.NotEqual(t, first.RequestID, ask(t, k, a{"question": "other"}).RequestID)
}

// 10.15-5: nobody is there, so the run goes on.
func TestClarificationDisabled(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.env.NoClarification = true
	r := k.call("ask_clarification", a{"question": "q"})
	require.Nil(t, r.Interrupt)
	require.Nil(t, r.Artifact)
	require.False(t, r.Error)
	require.Contains(t, r.Text, "disabled")
	require.Contains(t, r.Text, "Proceed")
}

// 10.15-1 and the vectors of spec 4.36.
func TestClarificationOptions(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprint("choice ", i)
	}
	for _, c := range []struct {
		options any
		want    []string
	}{
		{`["a","b"]`, []string{"a", "b"}},
		{"a", []string{"a"}},
		{a{"x": a{"y": 1}}, []string{"1"}},
		{[]string{"a", " ", "a"}, []string{"a"}},
		{`["Option A", 2, true, null]`, []string{"Option A", "2", "true", "null"}},
		{json.RawMessage(`{"item":{"item":"A</item>","$text":"B</item>"},"$text":"C"}`), []string{"A", "B", "C"}},
		{json.RawMessage(`[{"z":"1","a":"2"},["3",["4"]]]`), []string{"1", "2", "3", "4"}},
		{[]any{a{"label": "<b>Red</b>", "value": "r"}, a{"label": "Blue"}}, []string{"Red", "Blue"}},
		{"just one option", []string{"just one option"}},
		{"[not json", []string{"[not json"}},
		{"a < b", []string{"a < b"}},
		{7, []string{"7"}},
		{nil, nil},
		{[]string{}, nil},
		{"", nil},
		{"null", nil},
		{many, many[:24]},
		{[]string{strings.Repeat("x", 300)}, []string{strings.Repeat("x", 197) + "..."}},
	} {
		card := ask(t, k, a{"question": "q", "options": c.options})
		require.Equal(t, c.want, labels(card.Options), "%v", c.options)
		mode := thread.InputChoice
		if c.want == nil {
			mode = thread.InputFreeText
		}
		require.Equal(t, mode, card.InputMode, "%v", c.options)
	}
	card := ask(t, k, a{"question": "q", "options": []any{a{"label": "Red", "value": "r"}, a{"label": "Rot", "value": "r"}, "r"}})
	require.Equal(t, []thread.Option{{ID: "option-1", Label: "Red", Value: "r"}, {ID: "option-2", Label: "Rot", Value: "Rot"}}, card.Options)
	require.NotContains(t, string(k.call("ask_clarification", a{"question": "q"}).Artifact), `"options"`)
}

// 10.15-3 and spec 3.2-7: a form is taken whole or not at all.
func TestClarificationForm(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	args := a{"question": "Details?", "options": []string{"ignored"}, "fields": []any{
		a{"name": "city", "label": "City", "type": "select", "required": 1, "options": []string{"Rome", "Oslo"}},
		a{"name": "tags", "label": "Tags", "type": "multi_select", "options": `["x","y"]`},
		a{"name": "note", "type": "rich_text", "placeholder": "free"},
		a{"name": "obj", "label": "Obj", "type": a{"x": 1}, "required": 0},
		a{"name": "sel", "label": "Sel", "type": "select"},
		a{"name": "when", "label": "When", "type": "date", "required": false},
	}}
	card := ask(t, k, args)
	require.Equal(t, 2, card.Version)
	require.Equal(t, thread.InputForm, card.InputMode)
	require.Empty(t, card.Options)
	types := map[string]string{}
	for _, f := range card.Fields {
		types[f.Name] = f.Type
	}
	require.Equal(t, map[string]string{"city": "select", "tags": "multi_select", "note": "text", "obj": "text", "sel": "text", "when": "date"}, types)
	require.True(t, card.Fields[0].Required)
	require.Equal(t, []string{"Rome", "Oslo"}, labels(card.Fields[0].Options))
	require.Equal(t, "note", card.Fields[2].Label)
	require.Equal(t, "❓ Details?\n\n  1. City (required) — options: Rome / Oslo\n  2. Tags — options: x / y (multiple allowed)\n  3. note\n  4. Obj\n  5. Sel\n  6. When\n\n"+
		"Please give a value for each field.", k.ok("ask_clarification", args))
	asText, err := json.Marshal(args["fields"])
	require.NoError(t, err)
	require.Equal(t, card, ask(t, k, a{"question": "Details?", "fields": string(asText)}))

	field := func(change a) any {
		f := a{"name": "n", "label": "N", "type": "text"}
		for key, v := range change {
			f[key] = v
		}
		return f
	}
	repeat := func(n int, f func(i int) any) []any {
		var out []any
		for i := range n {
			out = append(out, f(i))
		}
		return out
	}
	numbered := func(i int) any { return field(a{"name": fmt.Sprint("n", i)}) }
	for name, fields := range map[string]any{
		"reserved":     []any{field(a{"name": "__proto__"})},
		"constructor":  []any{field(a{"name": "constructor"})},
		"duplicate":    []any{field(nil), field(nil)},
		"no name":      []any{a{"label": "x", "type": "text"}},
		"no object":    []any{field(nil), "x"},
		"a list in it": []any{[]string{"x"}},
		"required":     []any{field(a{"required": 2})},
		"17 fields":    repeat(17, numbered),
		"25 options":   []any{field(a{"type": "select", "options": repeat(25, func(i int) any { return fmt.Sprint(i) })})},
		"long label":   []any{field(a{"label": strings.Repeat("字", 201)})},
		"long option":  []any{field(a{"type": "select", "options": []string{strings.Repeat("x", 201)}})},
		"too many byte": repeat(16, func(i int) any {
			return field(a{"name": fmt.Sprint("n", i), "label": strings.Repeat("字", 200), "placeholder": strings.Repeat("字", 200)})
		}),
		"an object": a{"name": "x"},
		"a text":    "none",
		"empty":     []any{},
	} {
		card := ask(t, k, a{"question": "q", "fields": fields, "options": []string{"A"}})
		require.Equal(t, 1, card.Version, name)
		require.Empty(t, card.Fields, name)
		require.Equal(t, []string{"A"}, labels(card.Options), name)
	}
	require.Len(t, ask(t, k, a{"question": "q", "fields": repeat(16, numbered)}).Fields, 16)
	require.Len(t, ask(t, k, a{"question": "q", "fields": []any{field(a{"label": strings.Repeat("字", 200)})}}).Fields, 1)
}

// Whatever a model sends, the card is one that a page can show.
func FuzzClarification(f *testing.F) {
	for _, seed := range []string{`["a"]`, `{"a":{"b":[1,null]}}`, `"[\"a\"]"`, `[[[`, `[{"name":"x","type":"select","options":["a","a"]}]`, `nul`, `1e999`} {
		f.Add(seed)
	}
	tool, err := askClarification()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if !json.Valid([]byte(value)) {
			value = string(quote(value))
		}
		args := json.RawMessage(fmt.Sprintf(`{"question":"q","options":%s,"fields":%s,"clarification_type":%s,"context":%s}`, value, value, value, value))
		r, err := Run(t.Context(), tool, Call{Args: args, Env: Env{CallID: "c"}})
		require.NoError(t, err)
		require.NotNil(t, r.Interrupt, r.Text)
		card := r.Interrupt.Value
		require.Equal(t, card.InputMode == thread.InputForm, card.Version == 2)
		require.Equal(t, card.InputMode == thread.InputForm, len(card.Fields) > 0)
		require.Equal(t, card.InputMode == thread.InputChoice, len(card.Options) > 0)
		require.LessOrEqual(t, len(card.Options), maxOptions)
		values := map[string]bool{}
		for _, o := range card.Options {
			require.NotEmpty(t, o.Value)
			values[o.ID] = true
		}
		require.Len(t, values, len(card.Options))
		require.Less(t, len(r.Artifact), 100_000)
	})
}
