package testkit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pieces of requests.
const (
	sysMsg   = `{"role":"system","content":"You help."}`
	userMsg  = `{"role":"user","content":"Hi"}`
	aiMsg    = `{"role":"assistant","content":"Hello"}`
	resultA  = `{"role":"tool","tool_call_id":"a","content":"ok"}`
	resultB  = `{"role":"tool","tool_call_id":"b","content":"ok"}`
	toolDecl = `{"type":"function","function":{"name":"ls","parameters":{"type":"object","properties":{}}}}`
)

// calls is an assistant message that calls ls once for each id.
func calls(ids ...string) string {
	return callsWith("", ids...)
}

// callsWith is the same with more fields in the message.
func callsWith(fields string, ids ...string) string {
	list := make([]string, 0, len(ids))
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"ls","arguments":"{}"}}`, id))
	}
	return `{"role":"assistant",` + fields + `"content":null,"tool_calls":[` + strings.Join(list, ",") + `]}`
}

// oneCall is an assistant message with one call made of raw JSON.
func oneCall(call string) string {
	return `{"role":"assistant","tool_calls":[` + call + `]}`
}

func body(messages ...string) string {
	return `{"model":"m","messages":[` + strings.Join(messages, ",") + `],"tools":[` + toolDecl + `]}`
}

func bodyWithTools(tools string, messages ...string) string {
	return `{"messages":[` + strings.Join(messages, ",") + `],"tools":` + tools + `}`
}

func schema(parameters string) string {
	return bodyWithTools(`[{"type":"function","function":{"name":"ls","parameters":`+parameters+`}}]`, userMsg)
}

func named(name string) string {
	return fmt.Sprintf(`{"type":"function","function":{"name":%q,"parameters":{"type":"object","properties":{}}}}`, name)
}

// ruleCase is one request and the rules that it breaks.
type ruleCase struct {
	name  string
	body  string
	rules Rules
	want  []Rule
}

func run(t *testing.T, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := Validate([]byte(c.body), c.rules)
			var got []Rule
			for _, v := range found {
				got = append(got, v.Rule)
				require.NotEmpty(t, v.Message)
			}
			require.Equal(t, c.want, got, "%v", found)
		})
	}
}

func TestValidateShape(t *testing.T) {
	t.Parallel()
	run(t, []ruleCase{
		{"plain", body(sysMsg, userMsg), Rules{}, nil},
		{"developer role", body(`{"role":"developer","content":"x"}`, userMsg), Rules{}, nil},
		{"unknown keys", `{"messages":[` + userMsg + `],"temperature":0,"x":{}}`, Rules{}, nil},
		{"no JSON", `{"messages":`, Rules{}, []Rule{RuleShape}},
		{"null", `null`, Rules{}, []Rule{RuleShape}},
		{"list", `[]`, Rules{}, []Rule{RuleShape}},
		{"no messages", `{"model":"m"}`, Rules{}, []Rule{RuleShape}},
		{"empty messages", `{"messages":[]}`, Rules{}, []Rule{RuleShape}},
		{"messages of text", `{"messages":["hi"]}`, Rules{}, []Rule{RuleShape}},
		{"no role", `{"messages":[{"content":"hi"}]}`, Rules{}, []Rule{RuleShape}},
		{"unknown role", body(userMsg, `{"role":"function","content":"hi"}`), Rules{}, []Rule{RuleShape}},
		{"tools no list", bodyWithTools(`{}`, userMsg), Rules{}, []Rule{RuleShape}},
		{"tool_calls no list", body(userMsg, `{"role":"assistant","content":"x","tool_calls":{}}`), Rules{}, []Rule{RuleShape}},
	})
}

func TestValidateV1V2Results(t *testing.T) {
	t.Parallel()
	run(t, []ruleCase{
		{"one call", body(userMsg, calls("a"), resultA), Rules{}, nil},
		{"two calls, any order", body(userMsg, calls("a", "b"), resultB, resultA, aiMsg, userMsg), Rules{}, nil},
		{"two batches, one id", body(userMsg, calls("a"), resultA, calls("a"), resultA), Rules{}, nil},
		{"no result at the end", body(userMsg, calls("a")), Rules{}, []Rule{V1}},
		{"one of two", body(userMsg, calls("a", "b"), resultA, userMsg), Rules{}, []Rule{V1}},
		{"user before the result", body(userMsg, calls("a"), userMsg, resultA), Rules{}, []Rule{V1}},
		{"user between the results", body(userMsg, calls("a", "b"), resultA, userMsg, resultB), Rules{}, []Rule{V1}},
		{"assistant in between", body(userMsg, calls("a"), calls("b"), resultB), Rules{}, []Rule{V1}},
		{"open twice", body(userMsg, calls("a"), userMsg, calls("b"), userMsg), Rules{}, []Rule{V1, V1}},
		{"orphan at the start", body(resultA, userMsg), Rules{}, []Rule{V2}},
		{"orphan after an answer", body(userMsg, aiMsg, resultA), Rules{}, []Rule{V2}},
		{"foreign id", body(userMsg, calls("a"), resultB, resultA), Rules{}, []Rule{V2}},
		{"second result", body(userMsg, calls("a"), resultA, resultA), Rules{}, []Rule{V2}},
		{"second result, late", body(userMsg, calls("a"), resultA, userMsg, resultA), Rules{}, []Rule{V2}},
		{"id of an older batch", body(userMsg, calls("a"), resultA, calls("b"), resultB, resultA), Rules{}, []Rule{V2}},
		{"null id", body(userMsg, calls("a"), resultA, `{"role":"tool","tool_call_id":null,"content":"x"}`), Rules{}, []Rule{V2}},
		{"no id", body(userMsg, calls("a"), resultA, `{"role":"tool","content":"x"}`), Rules{}, []Rule{V2}},
	})
}

func TestValidateV3IDs(t *testing.T) {
	t.Parallel()
	const f = `"function":{"name":"ls","arguments":"{}"}`
	run(t, []ruleCase{
		{"distinct", body(userMsg, calls("a", "b"), resultA, resultB), Rules{}, nil},
		{"missing", body(userMsg, oneCall(`{`+f+`}`)), Rules{}, []Rule{V3}},
		{"null", body(userMsg, oneCall(`{"id":null,`+f+`}`)), Rules{}, []Rule{V3}},
		{"empty", body(userMsg, oneCall(`{"id":"",`+f+`}`)), Rules{}, []Rule{V3}},
		{"number", body(userMsg, oneCall(`{"id":7,`+f+`}`)), Rules{}, []Rule{V3}},
		{"twice", body(userMsg, calls("a", "a"), resultA), Rules{}, []Rule{V3}},
	})
}

func TestValidateV4Names(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64)
	inHistory := func(name string) string {
		return body(userMsg, oneCall(fmt.Sprintf(`{"id":"a","function":{"name":%q,"arguments":"{}"}}`, name)), resultA)
	}
	declared := func(names ...string) string {
		list := make([]string, 0, len(names))
		for _, name := range names {
			list = append(list, named(name))
		}
		return bodyWithTools("["+strings.Join(list, ",")+"]", userMsg)
	}
	result := func(name string) string {
		return body(userMsg, calls("a"), fmt.Sprintf(`{"role":"tool","tool_call_id":"a","name":%q,"content":"x"}`, name))
	}
	run(t, []ruleCase{
		{"all characters", declared("Az_09-b", "other"), Rules{}, nil},
		{"64 characters", declared(long), Rules{}, nil},
		{"65 characters", declared(long + "x"), Rules{}, []Rule{V4}},
		{"dot", declared("fs.read"), Rules{}, []Rule{V4}},
		{"letters of another script", declared("查询"), Rules{}, []Rule{V4}},
		{"empty", declared(""), Rules{}, []Rule{V4}},
		{"absent", bodyWithTools(`[{"function":{"parameters":{"type":"object","properties":{}}}}]`, userMsg), Rules{}, []Rule{V4}},
		{"declared twice", declared("a", "b", "a"), Rules{}, []Rule{V4}},
		{"history", inHistory("good-name"), Rules{}, nil},
		{"history, empty", inHistory(""), Rules{}, []Rule{V4}},
		{"history, space", inHistory("web search"), Rules{}, []Rule{V4}},
		{"history, long", inHistory(long + "x"), Rules{}, []Rule{V4}},
		{"result", result("ls"), Rules{}, nil},
		{"result, empty", result(""), Rules{}, []Rule{V4}},
		{"result, colon", result("a:b"), Rules{}, []Rule{V4}},
	})
}

func TestValidateV5Arguments(t *testing.T) {
	t.Parallel()
	with := func(function string) string {
		return body(userMsg, oneCall(`{"id":"a","function":{"name":"ls"`+function+`}}`), resultA)
	}
	run(t, []ruleCase{
		{"empty object", with(`,"arguments":"{}"`), Rules{}, nil},
		{"object with spaces", with(`,"arguments":" {\"a\": [1]}\n"`), Rules{}, nil},
		{"absent", with(``), Rules{}, []Rule{V5}},
		{"null", with(`,"arguments":null`), Rules{}, []Rule{V5}},
		{"an object itself", with(`,"arguments":{}`), Rules{}, []Rule{V5}},
		{"empty text", with(`,"arguments":""`), Rules{}, []Rule{V5}},
		{"text null", with(`,"arguments":"null"`), Rules{}, []Rule{V5}},
		{"text of a list", with(`,"arguments":"[]"`), Rules{}, []Rule{V5}},
		{"encoded twice", with(`,"arguments":"\"{}\""`), Rules{}, []Rule{V5}},
		{"cut", with(`,"arguments":"{\"a\":\"unfinis"`), Rules{}, []Rule{V5}},
		{"two objects", with(`,"arguments":"{}{}"`), Rules{}, []Rule{V5}},
		{"one brace too many", with(`,"arguments":"{}}"`), Rules{}, []Rule{V5}},
	})
}

func TestValidateV6System(t *testing.T) {
	t.Parallel()
	run(t, []ruleCase{
		{"first", body(sysMsg, userMsg), Rules{}, nil},
		{"none", body(userMsg), Rules{}, nil},
		{"two at the start", body(sysMsg, sysMsg, userMsg), Rules{}, []Rule{V6}},
		{"one later", body(userMsg, sysMsg), Rules{}, []Rule{V6}},
		{"system and developer", body(sysMsg, `{"role":"developer","content":"x"}`, userMsg), Rules{}, []Rule{V6}},
	})
}

func TestValidateV7V8V13Content(t *testing.T) {
	t.Parallel()
	assistant := func(content string) string { return body(userMsg, `{"role":"assistant"`+content+`}`, userMsg) }
	user := func(content string) string { return body(`{"role":"user"` + content + `}`) }
	tool := func(content string) string {
		return body(userMsg, calls("a"), `{"role":"tool","tool_call_id":"a"`+content+`}`)
	}
	run(t, []ruleCase{
		{"V7 text", assistant(`,"content":"x"`), Rules{}, nil},
		{"V7 parts", assistant(`,"content":[{"type":"text","text":"x"}]`), Rules{}, nil},
		{"V7 refusal part", assistant(`,"content":[{"type":"refusal","refusal":"no"}]`), Rules{}, nil},
		{"V7 calls only", body(userMsg, calls("a"), resultA), Rules{}, nil},
		{"V7 absent", assistant(``), Rules{}, []Rule{V7}},
		{"V7 null", assistant(`,"content":null`), Rules{}, []Rule{V7}},
		{"V7 empty", assistant(`,"content":""`), Rules{}, []Rule{V7}},
		{"V7 blank", assistant(`,"content":" \n"`), Rules{}, []Rule{V7}},
		{"V7 empty parts", assistant(`,"content":[]`), Rules{}, []Rule{V7}},
		{"V7 blank part", assistant(`,"content":[{"type":"text","text":" "}]`), Rules{}, []Rule{V7}},
		{"V7 empty calls", assistant(`,"content":"","tool_calls":[]`), Rules{}, []Rule{V7}},
		{"V7 reasoning only", assistant(`,"content":"","reasoning_content":"hm"`), Rules{}, []Rule{V7}},
		{"V8 text", tool(`,"content":"x"`), Rules{}, nil},
		{"V8 empty text", tool(`,"content":""`), Rules{}, nil},
		{"V8 absent", tool(``), Rules{}, []Rule{V8}},
		{"V8 null", tool(`,"content":null`), Rules{}, []Rule{V8}},
		{"V13 text", user(`,"content":"x"`), Rules{}, nil},
		{"V13 image only", user(`,"content":[{"type":"image_url","image_url":{"url":"data:,"}}]`), Rules{}, nil},
		{"V13 absent", user(``), Rules{}, []Rule{V13}},
		{"V13 null", user(`,"content":null`), Rules{}, []Rule{V13}},
		{"V13 empty", user(`,"content":""`), Rules{}, []Rule{V13}},
		{"V13 blank", user(`,"content":"  "`), Rules{}, []Rule{V13}},
		{"V13 empty parts", user(`,"content":[]`), Rules{}, []Rule{V13}},
		{"V13 blank part", user(`,"content":[{"type":"text","text":""}]`), Rules{}, []Rule{V13}},
	})
}

func TestValidateV9Reasoning(t *testing.T) {
	t.Parallel()
	on := Rules{Thinking: true}
	given := func(texts map[string][]string) Rules {
		return Rules{Thinking: true, Reasoning: func(id string) []string { return texts[id] }}
	}
	with := func(fields string) string { return body(userMsg, callsWith(fields, "a"), resultA) }
	run(t, []ruleCase{
		{"thinking off", with(``), Rules{}, nil},
		{"some text", with(`"reasoning_content":"hm",`), on, nil},
		{"a space", with(`"reasoning_content":" ",`), on, nil},
		{"no calls, none needed", body(userMsg, aiMsg, userMsg), on, nil},
		{"absent", with(``), on, []Rule{V9}},
		{"empty", with(`"reasoning_content":"",`), on, []Rule{V9}},
		{"null", with(`"reasoning_content":null,`), on, []Rule{V9}},
		{"another field", with(`"reasoning":"hm",`), on, []Rule{V9}},
		{"as given", with(`"reasoning_content":"hm",`), given(map[string][]string{"a": {"hm"}}), nil},
		{"one of those given", with(`"reasoning_content":"hm",`), given(map[string][]string{"a": {"x", "hm"}}), nil},
		{"changed", with(`"reasoning_content":"HM",`), given(map[string][]string{"a": {"hm"}}), []Rule{V9}},
		{"placeholder though given", with(`"reasoning_content":" ",`), given(map[string][]string{"a": {"hm"}}), []Rule{V9}},
		{"placeholder, given without", with(`"reasoning_content":" ",`), given(map[string][]string{"a": {""}}), nil},
		{"unknown id", with(`"reasoning_content":"any",`), given(map[string][]string{"b": {"hm"}}), nil},
	})
}

func TestValidateV10Window(t *testing.T) {
	t.Parallel()
	// 400 letters are 100 tokens, and the message costs 4.
	with := func(params string) string {
		return `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 400) + `"}]` + params + `}`
	}
	run(t, []ruleCase{
		{"no window", with(`,"max_tokens":1000000`), Rules{}, nil},
		{"fits exactly", with(`,"max_tokens":96`), Rules{Window: 200}, nil},
		{"output too long", with(`,"max_tokens":97`), Rules{Window: 200}, []Rule{V10}},
		{"newer name", with(`,"max_completion_tokens":97`), Rules{Window: 200}, []Rule{V10}},
		{"prompt alone fits", with(``), Rules{Window: 104}, nil},
		{"prompt alone too long", with(``), Rules{Window: 103}, []Rule{V10}},
	})
}

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	user := func(content string) string { return `{"messages":[{"role":"user","content":` + content + `}]}` }
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"letters":       {user(`"abcd"`), 5},
		"rounded up":    {user(`"abcde"`), 6},
		"other scripts": {user(`"你好"`), 6},
		"image":         {user(`[{"type":"text","text":"abcd"},{"type":"image_url"}]`), 1005},
		"call":          {`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"grep","arguments":"{}"}}]}]}`, 6},
		"reasoning":     {`{"messages":[{"role":"assistant","content":"","reasoning_content":"abcd"}]}`, 5},
		"tools count":   {`{"messages":[],"tools":[{}]}`, 1},
		"no request":    {`nonsense`, 0},
	} {
		require.Equal(t, c.want, EstimateTokens([]byte(c.body)), name)
	}
}

func TestValidateV11Schemas(t *testing.T) {
	t.Parallel()
	run(t, []ruleCase{
		{"object", schema(`{"type":"object","properties":{"a":{"type":"string"}}}`), Rules{}, nil},
		{"no properties", schema(`{"type":"object"}`), Rules{}, []Rule{V11}},
		{"null properties", schema(`{"type":"object","properties":null}`), Rules{}, []Rule{V11}},
		{"properties a list", schema(`{"type":"object","properties":[]}`), Rules{}, []Rule{V11}},
		{"no type", schema(`{"properties":{}}`), Rules{}, []Rule{V11}},
		{"empty type", schema(`{"type":"","properties":{}}`), Rules{}, []Rule{V11}},
		{"type a list", schema(`{"type":["object"],"properties":{}}`), Rules{}, []Rule{V11}},
		{"anyOf root", schema(`{"anyOf":[{"type":"object","properties":{}}]}`), Rules{}, []Rule{V11, V11}},
		{"null", schema(`null`), Rules{}, []Rule{V11}},
		{"absent", bodyWithTools(`[{"function":{"name":"ls"}}]`, userMsg), Rules{}, []Rule{V11}},
	})
}

func TestValidateV12ToolsAbsent(t *testing.T) {
	t.Parallel()
	history := `{"messages":[` + strings.Join([]string{userMsg, calls("a"), resultA}, ",") + `]`
	run(t, []ruleCase{
		{"declared", body(userMsg, calls("a"), resultA), Rules{}, nil},
		{"absent, no calls", `{"messages":[` + userMsg + `]}`, Rules{}, nil},
		{"absent", history + `}`, Rules{}, []Rule{V12}},
		{"null", history + `,"tools":null}`, Rules{}, []Rule{V12}},
		{"empty", history + `,"tools":[]}`, Rules{}, []Rule{V12}},
	})
}

func TestValidateReportsPlacesInOrder(t *testing.T) {
	t.Parallel()
	request := body(userMsg, sysMsg, oneCall(`{"id":"","function":{"name":"","arguments":""}}`), `{"role":"user","content":""}`)
	var lines []string
	for _, v := range Validate([]byte(request), Rules{}) {
		lines = append(lines, v.String())
	}
	require.Len(t, lines, 5)
	require.Equal(t, "V3: messages[2].tool_calls[0].id: missing, empty or not a string", lines[0])
	require.Contains(t, lines[1], "V4: messages[2].tool_calls[0].function.name: ")
	require.Contains(t, lines[2], "V5: messages[2].tool_calls[0].function.arguments: ")
	require.Contains(t, lines[3], "V6: messages[1]: ")
	require.Contains(t, lines[4], "V13: messages[3].content: ")
	require.Empty(t, Validate([]byte(request), Rules{Off: []Rule{V3, V4, V5, V6, V13}}))
	require.Equal(t, "shape: no", Violation{Rule: RuleShape, Message: "no"}.String())
}

// FuzzValidate looks for bodies that break the checker itself.
func FuzzValidate(f *testing.F) {
	f.Add(body(sysMsg, userMsg, calls("a"), resultA))
	f.Add(`{"messages":[{"role":1,"content":{},"tool_calls":[{"function":[]}]}],"tools":[{"function":null}]}`)
	f.Add(`{"messages":[{}],"max_tokens":"x"}`)
	f.Fuzz(func(t *testing.T, body string) {
		found := Validate([]byte(body), Rules{Thinking: true, Window: 10})
		require.Equal(t, found, Validate([]byte(body), Rules{Thinking: true, Window: 10}))
	})
}
