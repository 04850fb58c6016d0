package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tell plays events, "name data" a line, and returns what was written. A line "+1s" moves the clock.
func tell(t *testing.T, replay bool, events string) string {
	t.Helper()
	var w screen
	c := newClock()
	n := &Narrator{Progress: NewProgress(ProgressOptions{Streams: IOStreams{ErrOut: &w}, Env: noEnv}), Replay: replay, Now: c.now}
	for line := range strings.SplitSeq(strings.TrimSpace(events), "\n") {
		line = strings.TrimSpace(line)
		if d, ok := strings.CutPrefix(line, "+"); ok {
			wait, err := time.ParseDuration(d)
			require.NoError(t, err)
			c.at = c.at.Add(wait)
			continue
		}
		name, data, _ := strings.Cut(line, " ")
		n.Event(name, json.RawMessage(data))
	}
	return w.String()
}

const readTurn = `
	metadata {"run_id":"r","thread_id":"t"}
	messages [{"type":"AIMessageChunk","id":"a1","content":"Let me "},{}]
	messages [{"type":"AIMessageChunk","id":"a1","content":"look."},{}]
	messages [{"type":"AIMessageChunk","id":"a1","content":"","tool_call_chunks":[{"name":"read_file","args":"","id":"c1","index":0}]},{}]
	messages [{"type":"AIMessageChunk","id":"a1","content":"","tool_call_chunks":[{"args":"{\"path\":\"/mnt/user-data/work","index":0}]},{}]
	messages [{"type":"AIMessageChunk","id":"a1","content":"","tool_call_chunks":[{"args":"space/README.md\"}","index":0}],"chunk_position":"last"},{}]
	+120ms
	messages [{"type":"tool","name":"read_file","id":"m2","tool_call_id":"c1","content":"text","status":"success"},{}]`

func TestNarratorTellsToolCallsAndResults(t *testing.T) {
	t.Parallel()
	require.Equal(t, "  Let me look.\n• read_file README.md\n✓ read_file 0.1s\n", tell(t, false, readTurn))
	require.Equal(t, "  Let me look.\n• read_file README.md\n✓ read_file\n", tell(t, true, readTurn), "no durations in a replay")
}

// A command that ended with another code than 0 is no error of the tool, and no
// success either.
func TestNarratorTellsExitCodes(t *testing.T) {
	t.Parallel()
	require.Equal(t, "! bash exit 3\n✓ bash\n", tell(t, true, `
		messages [{"type":"tool","name":"bash","id":"m1","tool_call_id":"c1","content":"Exit Code: 3","status":"success","additional_kwargs":{"exit_code":3}},{}]
		messages [{"type":"tool","name":"bash","id":"m2","tool_call_id":"c2","content":"Exit Code: 3","status":"success","additional_kwargs":{}},{}]`))
}

func TestNarratorLeavesTheAnswerToTheEnd(t *testing.T) {
	t.Parallel()
	require.Empty(t, tell(t, false, `
		metadata {}
		messages [{"type":"AIMessageChunk","id":"a1","content":"The answer."},{}]
		end null`))
}

func TestNarratorDropsWhatARetryTakesBack(t *testing.T) {
	t.Parallel()
	require.Equal(t, "↻ what the model had written is dropped\n  Second try.\n• bash ls -la\n", tell(t, false, `
		messages [{"type":"AIMessageChunk","id":"a1","content":"First try, with "},{}]
		messages [{"type":"AIMessageChunk","id":"a1","content":"","tool_call_chunks":[{"name":"bash","args":"{\"comm","id":"c1","index":0}]},{}]
		messages [{"type":"remove","id":"a1"},{}]
		messages [{"type":"AIMessageChunk","id":"a1","content":"Second try."},{}]
		messages [{"type":"AIMessageChunk","id":"a1","content":"","tool_call_chunks":[{"name":"bash","args":"{\"command\":\"ls -la\"}","id":"c1","index":0}]},{}]
		end null`))
}

func TestNarratorKeepsParallelCallsApart(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.TrimLeft(`
• web_search go 1.26
• web_search temporal
• web_fetch https://go.dev
✓ web_search temporal 1.0s
✗ web_fetch 1.0s Error: status 404
✓ web_search go 1.26 3.0s
`, "\n"), tell(t, false, `
		updates {"model":{"messages":[]}}
		messages [{"type":"ai","id":"a1","content":"","tool_calls":[{"id":"c1","name":"web_search","args":{"query":"go 1.26"}},{"id":"c2","name":"web_search","args":{"query":"temporal"}},{"id":"c3","name":"web_fetch","args":{"url":"https://go.dev"}}]},{}]
		updates {"model":{"messages":[{"type":"ai","id":"a1","content":""}]}}
		+1s
		messages [{"type":"tool","name":"web_search","id":"m2","tool_call_id":"c2","content":"[]","status":"success"},{}]
		messages [{"type":"tool","name":"web_fetch","id":"m3","tool_call_id":"c3","content":"Error:\nstatus 404","status":"error"},{}]
		+2s
		messages [{"type":"tool","name":"web_search","id":"m1","tool_call_id":"c1","content":"[]","status":"success"},{}]`))
}

func TestNarratorOtherEvents(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.TrimLeft(`
  title: Go news
  plan: 1 of 3 done · now: read
↻ Model gpt: no connection. Trying again. attempt 2 of 5 in 1.5s
↻ the model is asked again: overloaded attempt 3
↻ the model is asked again attempt 4
  sub-agent: web_search x
! sub-agent timed out after 15 minutes
! the provider's safety filter stopped the model openai
  the older part of the conversation was compacted
! model small wrote no summary
! some events are not kept any more; going on with the newest
`, "\n"), tell(t, false, `
		updates {"TitleMiddleware":{"title":"Go news"}}
		updates {"model":{"title":"Go news","todos":[{"content":"plan","status":"completed"},{"content":"read","status":"in_progress"},{"content":"write","status":"pending"}]},"x":null}
		custom {"type":"llm_retry","attempt":2,"max_attempts":5,"wait_ms":1500,"reason":"busy","message":"Model gpt: no connection. Trying again."}
		custom {"type":"llm_retry","attempt":3,"reason":"overloaded"}
		custom {"type":"llm_retry","attempt":4}
		custom {"type":"task_running","task_id":"c","message":{"type":"ai","id":"s","content":"","tool_calls":[{"name":"web_search","args":{"query":"x"},"id":"q"}]}}
		custom {"type":"task_timed_out","task_id":"c","error":"after 15 minutes"}
		custom {"type":"safety_termination","detector":"openai"}
		custom {"type":"summarization","messages":4,"model":"kit"}
		custom {"type":"summarization_warning","message":"model small wrote no summary"}
		gap {"code":"stream_replay_gap"}
		messages|tools:1 [{"type":"ai","id":"sub","content":"","tool_calls":[{"id":"z","name":"bash","args":{}}]},{}]`))
}

func TestNarratorTellsCallsWhosePiecesAreGone(t *testing.T) {
	t.Parallel()
	require.Equal(t, "! some events are not kept any more; going on with the newest\n• bash ls\n✓ bash 2.0s\n", tell(t, false, `
		gap {"code":"stream_replay_gap"}
		messages [{"type":"AIMessageChunk","id":"a1","content":"","tool_calls":[],"tool_call_chunks":[],"chunk_position":"last"},{}]
		updates {"model":{"messages":[{"type":"ai","id":"a1","content":"","tool_calls":[{"id":"c1","name":"bash","args":{"command":"ls"}}]}]}}
		+2s
		messages [{"type":"tool","name":"bash","id":"m1","tool_call_id":"c1","content":"ok","status":"success"},{}]`))
}

func TestNarratorLeavesTheQuestionToThePrompter(t *testing.T) {
	t.Parallel()
	require.Empty(t, tell(t, false, `
		messages [{"type":"ai","id":"a1","content":"","tool_calls":[{"id":"c1","name":"ask_clarification","args":{"question":"?"}}]},{}]
		messages [{"type":"tool","name":"ask_clarification","id":"clarification:c1","tool_call_id":"c1","content":"?","status":"success"},{}]
		end null`))
}

func TestNarratorSurvivesAnything(t *testing.T) {
	t.Parallel()
	require.Empty(t, tell(t, false, `
		messages
		messages null
		messages []
		messages {"a":1}
		messages [1,2]
		messages [{"type":"AIMessageChunk","content":"no id"},{}]
		updates []
		updates {"a":5,"b":{"messages":"x"}}
		custom "text"
		custom {"type":"task_running","message":7}
		unknown {}`))
}

func TestAboutSaysWhatACallIsAbout(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"present_files", `{"filepaths":["/mnt/user-data/outputs/a.md","/mnt/user-data/outputs/b.md"]}`, "a.md b.md"},
		{"grep", `{"pattern":"x+","path":"/mnt/user-data/uploads/d"}`, "x+ d"},
		{"bash", `{"description":"List","command":"ls\n-la"}`, "ls -la"},
		{"search_flights", `{"from":"BER","description":"Find flights"}`, "Find flights"},
		{"write_todos", `{"todos":[{"content":"a"}]}`, ""},
		{"read_file", `{"path":`, ""},
	} {
		require.Equal(t, c[2], About(c[0], json.RawMessage(c[1])))
	}
}

func FuzzNarrator(f *testing.F) {
	for line := range strings.SplitSeq(strings.TrimSpace(readTurn), "\n") {
		name, data, _ := strings.Cut(strings.TrimSpace(line), " ")
		f.Add(name, data)
	}
	f.Fuzz(func(t *testing.T, name, data string) {
		var w screen
		n := &Narrator{Progress: NewProgress(ProgressOptions{Streams: IOStreams{ErrOut: &w}, Env: noEnv}), Now: time.Now}
		n.Event(name, json.RawMessage(data))
		n.Event("end", nil)
		require.NotContains(t, w.String(), "\x1b")
	})
}
