package chain

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// everything is a configuration with the whole chain on.
func everything(m *Model, more ...string) string {
	config := ConfigFor(m, append([]string{
		"title: {model_name: kit}",
		"token_budget: {enabled: true}",
		"guardrails: {enabled: true, provider: {use: allowlist, config: {denied_tools: [grep]}}}",
	}, more...)...)
	return strings.Replace(config, "    api_key:", "    supports_vision: true\n    context_window: 128000\n    api_key:", 1)
}

// world is a conversation with the model that plays.
type world struct {
	t  *testing.T
	m  *Model
	pl *plays
	p  *Process
	id string
	// question is what a user said in each play.
	questions []string
}

func (w *world) api() *API { return w.p.API() }

// say starts a play.
func (w *world) say(play string, more ...func(*RunRequest)) Run {
	w.t.Helper()
	text := "PLAY:" + play + " if you please"
	w.questions = append(w.questions, text)
	r := SayWatched(text)
	for _, change := range more {
		change(&r)
	}
	return begin(w.t, w.api(), w.id, r)
}

// played sends a play and demands its success.
func (w *world) played(play, stop string, more ...func(*RunRequest)) {
	w.t.Helper()
	w.ended(w.say(play, more...), stop)
}

func (w *world) ended(run Run, stop string) {
	w.t.Helper()
	run = finish(w.t, w.api(), w.id, run)
	require.Equal(w.t, []string{"success", stop}, []string{run.Status, run.StopReason}, "after %v", w.questions)
}

// killed ends the process at once and starts it again.
func (w *world) killed() {
	w.t.Helper()
	w.p.Kill9()
	w.p = w.p.Restart(func(o *DevOptions) { o.Listen = w.p.Addr() })
}

func (w *world) reached(gate *Gate) {
	w.t.Helper()
	select {
	case <-gate.Reached():
	case <-patient(w.t).Done():
		w.t.Fatal("the model was not asked")
	}
}

// sent are the lead agent's requests of a play.
func (w *world) sent(play string) []*Request {
	return w.m.RequestsTo(func(r *Request) bool { return lead(r) && playOf(r) == play })
}

// A conversation of more than sixty turns with everything on, and three kills in
// it. The model server refuses every request that a provider would refuse.
func TestAConversationWithEverything(t *testing.T) {
	t.Parallel()
	m := NewModel(t, WithWindow(128_000))
	pl := &plays{streaming: NewGate(), compacted: NewGate()}
	m.On(titles).Always(Text("A title of the model"))
	m.On(summarizes).Respond(pl.summarize)
	m.On(lead).Respond(pl.answer)
	p := StartDev(t, DevOptions{Config: everything(m,
		"summarization: {enabled: true, trigger: [{type: messages, value: 30}], keep: {type: messages, value: 8}}")})
	w := &world{t: t, m: m, pl: pl, p: p, id: newThread(t, p.API())}

	w.plan()
	w.look()
	w.large()
	w.warnings()
	w.ask()
	w.long()

	require.GreaterOrEqual(t, len(m.RequestsTo(lead)), 60)
	require.Empty(t, m.Violations())
	w.transcript()
	w.prefixes()
	w.plansInView()
}

// plan: plan mode, a title of a model, an answer that comes too early; a kill
// while the model streams.
func (w *world) plan() {
	t := w.t
	run := w.say("plan")
	w.reached(w.pl.streaming)
	w.p.Kill9()
	w.pl.streaming.Release()
	w.killed()
	w.ended(run, "")
	v := values(t, w.api(), w.id)
	require.Equal(t, "A title of the model", v.Title())
	require.Len(t, w.m.RequestsTo(titles), 1)
	require.JSONEq(t, `[{"content":"read","status":"completed"},{"content":"write","status":"completed"}]`, string(v["todos"]))
	sent := w.sent("plan")
	require.Len(t, sent, 7, "five turns, one that was killed, one asked back")
	require.Equal(t, messagesOf(sent[2]), messagesOf(sent[3]), "the call that was killed is made again as it was")
	require.Contains(t, sent[5].Messages[len(sent[5].Messages)-1].Text(), "- [in_progress] read\n- [pending] write")
	for _, x := range messages(t, w.api(), w.id) {
		if x.Type == "ai" {
			require.Contains(t, x.AdditionalKwargs, "token_usage_attribution")
		}
	}
}

// look: files of a message, an image for one request; a kill while a command
// runs.
func (w *world) look() {
	t := w.t
	photo := "\x89PNG\r\n\x1a\n" + strings.Repeat("pixel of the photo ", 5000)
	inside := base64.StdEncoding.EncodeToString([]byte(photo))[2000:2400]
	_, err := w.api().Upload(patient(t), w.id, UploadFile{Name: "photo.png", Content: []byte(photo)}, UploadFile{Name: "table.csv", Content: []byte("a,b\n1,2\n")})
	require.NoError(t, err)
	run := w.say("look", func(r *RunRequest) {
		r.Input = map[string]any{"messages": []any{map[string]any{
			"role": "user", "content": w.questions[len(w.questions)-1],
			"additional_kwargs": map[string]any{"files": []any{
				map[string]any{"filename": "photo.png", "size": len(photo)}, map[string]any{"filename": "table.csv", "size": 8},
			}},
		}}}
	})
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(userDir(w.p, w.id), "workspace", "started"))
		return err == nil
	}, patience, 5*time.Millisecond)
	w.killed()
	w.ended(run, "")
	sent := w.sent("look")
	require.Len(t, sent, 3)
	require.True(t, AnyMessage("- table.csv (0.0 KB)")(sent[0]))
	for i, r := range sent {
		require.Equal(t, i == 1, strings.Contains(string(r.Body), inside), "the image in request %d", i+1)
	}
	lost, _ := sent[2].ToolResult("look_1_0")
	require.Contains(t, lost, "It may have run")
	v := values(t, w.api(), w.id)
	require.Contains(t, string(v["uploaded_files"]), "table.csv")
	require.NotContains(t, v, "viewed_images")
}

// large: a result that goes to a file, what is refused, an artifact.
func (w *world) large() {
	t := w.t
	w.played("large", "")
	sent := w.sent("large")
	result := func(id string) string {
		text, ok := sent[len(sent)-1].ToolResult(id)
		require.True(t, ok, id)
		return text
	}
	require.Contains(t, result("large_0_0"), "/mnt/user-data/outputs/.tool-results/bash-")
	require.Less(t, len(result("large_0_0")), 5000)
	require.Contains(t, result("large_1_0"), "has not been read since it last changed")
	require.Contains(t, result("large_1_1"), "the guardrail denied tool grep")
	require.Contains(t, result("large_1_2"), "Error: Command blocked: ")
	v := values(t, w.api(), w.id)
	require.JSONEq(t, `["/mnt/user-data/outputs/report.md"]`, string(v["artifacts"]))
	require.Empty(t, string(v["uploaded_files"]), "the next message has no files")
	require.NoFileExists(t, filepath.Join(userDir(w.p, w.id), "workspace", "ran"))
}

// warnings: a loop, a budget, a safety stop, the turn limit.
func (w *world) warnings() {
	t := w.t
	w.played("loop", "")
	w.warned("loop", "[LOOP DETECTED]", 3)
	w.played("budget", "")
	w.warned("budget", "[TOKEN BUDGET WARNING]", 3)
	w.played("safety", "safety_capped")
	list := messages(t, w.api(), w.id)
	stopped := list[len(list)-1]
	require.Empty(t, stopped.ToolCalls)
	require.Contains(t, stopped.AdditionalKwargs, "safety_termination")
	require.NoFileExists(t, filepath.Join(userDir(w.p, w.id), "outputs", "half.md"))
	w.played("limit", "turn_capped", func(r *RunRequest) { r.Config = map[string]any{"recursion_limit": 4} })
	w.warned("limit", "This is the last turn", len(w.sent("limit"))-1)
	list = messages(t, w.api(), w.id)
	require.Equal(t, "as far as I got", list[len(list)-1].Text())
}

// warned demands that a warning is in one request of a play, behind all else.
func (w *world) warned(play, text string, at int) {
	w.t.Helper()
	for i, r := range w.sent(play) {
		require.Equal(w.t, i == at, AnyMessage(text)(r), "%s in request %d of %s", text, i, play)
		if i == at {
			last := r.Messages[len(r.Messages)-1]
			require.Equal(w.t, "user", last.Role)
			require.Contains(w.t, last.Text(), text)
		}
	}
	require.NotContains(w.t, mustJSON(messages(w.t, w.api(), w.id)), text, "warnings are not kept")
}

// ask: a question, and its answer.
func (w *world) ask() {
	t := w.t
	w.played("ask", "")
	v := values(t, w.api(), w.id)
	waits, err := v.Interrupts()
	require.NoError(t, err)
	th, err := w.api().Thread(patient(t), w.id)
	require.NoError(t, err)
	require.Equal(t, "interrupted", th.Status)
	require.NotEmpty(t, mustJSON(waits)+mustJSON(th.Interrupts))
	w.questions = append(w.questions, `For your clarification "Which colour?", my answer is: the blue one`)
	w.ended(begin(t, w.api(), w.id, Resume("the blue one")), "")
	sent := w.sent("ask")
	require.Len(t, sent, 4)
	require.True(t, AnyMessage("the blue one")(sent[2]))
}

// long: compactions, a kill right after one, a request that is too long for the
// provider.
func (w *world) long() {
	t := w.t
	run := w.say("long")
	w.reached(w.pl.compacted)
	before := w.pl.summaries.Load()
	w.p.Kill9()
	w.pl.compacted.Release()
	w.killed()
	w.ended(run, "")
	held := -1
	sent := w.sent("long")
	for i, r := range sent {
		if held < 0 && i > 0 && AnyMessage(summaryText(before))(r) && turnOf(r, "long") > 8 {
			held = i
		}
	}
	require.Positive(t, held)
	require.Equal(t, messagesOf(sent[held]), messagesOf(sent[held+1]), "what was summarised stays so")
	require.Equal(t, turnOf(sent[held], "long"), turnOf(sent[held+1], "long"))

	require.GreaterOrEqual(t, w.pl.summaries.Load(), int32(2))
	w.played("toolong", "")
	sent = w.sent("toolong")
	require.Len(t, sent, 4, "three turns, one of them twice")
	between := w.m.RequestsTo(func(r *Request) bool { return summarizes(r) && r.N > sent[1].N && r.N < sent[2].N })
	require.Len(t, between, 1, "one hard compaction")
	newest := summaryText(w.pl.summaries.Load())
	require.True(t, AnyMessage(newest)(sent[2]))
	v := values(t, w.api(), w.id)
	require.NotContains(t, mustJSON(v), newest, "summaries are for models only")
}
