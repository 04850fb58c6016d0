package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// scene plays a moment on a thread of its own.
type scene struct {
	moment
	t    *testing.T
	sys  *system
	id   string        // thread
	gate *testkit.Gate // held until the kill
	// history is what the thread had said before.
	history []string

	run     string
	readers []*reader
	queued  []string   // runs
	posted  chan error // the outcome of a request that is not answered

	mu       sync.Mutex
	requests int
	total    int // requests, also those of plain runs
	askedAt  int // requests at the moment
}

// stage makes the thread of a moment.
func stage(t *testing.T, p *system, m moment) *scene {
	t.Helper()
	s := &scene{moment: m, t: t, sys: p, gate: testkit.NewGate()}
	th, err := p.API(t).CreateThread(patient(t), "", nil)
	require.NoError(t, err)
	s.id = th.ThreadID
	p.cast.enter(s.id, s)
	return s
}

func (s *scene) answer(r *testkit.Request) testkit.Reply {
	s.mu.Lock()
	s.total++
	s.mu.Unlock()
	if reply, ok := answerPlain(r); ok {
		return reply
	}
	s.mu.Lock()
	s.requests++
	n := s.requests
	s.mu.Unlock()
	return s.reply(s, r, n)
}

func (s *scene) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// api is a client for one request.
func (s *scene) api() *testkit.API { return s.sys.API(s.t) }

// say is a question that names the thread.
func (s *scene) say(text string) testkit.RunRequest {
	return testkit.SayWatched(text + " " + mark(s.id))
}

// plainRun asks something else and waits for the answer.
func (s *scene) plainRun(word string) {
	s.t.Helper()
	ctx := patient(s.t)
	run, err := s.api().CreateRun(ctx, s.id, s.say(plain+word))
	require.NoError(s.t, err)
	_, err = s.api().AwaitRun(ctx, s.id, run.RunID, "success")
	require.NoError(s.t, err)
	s.history = append(s.history, "human: "+plain+word, "ai: re: "+word)
}

// enqueue queues a run behind the one that is active.
func (s *scene) enqueue(word string) string {
	s.t.Helper()
	request := s.say(plain + word)
	request.MultitaskStrategy = "enqueue"
	run, err := s.api().CreateRun(patient(s.t), s.id, request)
	require.NoError(s.t, err)
	s.queued = append(s.queued, run.RunID)
	return run.RunID
}

// prepare gives the thread its history.
func (s *scene) prepare() {
	s.t.Helper()
	if !s.fresh {
		s.plainRun("before")
	}
}

// start asks for the run.
func (s *scene) start() {
	s.t.Helper()
	if s.point != "" {
		s.sys.arm(s.t, s.point, s.id, s.passing)
	}
	if s.posting {
		s.post()
	} else {
		s.open(s.say("the question"))
	}
}

// arrive plays up to the moment.
func (s *scene) arrive() {
	s.t.Helper()
	if s.begin != nil {
		s.begin(s)
	}
	if s.point != "" {
		s.sys.reached(s.t, s.point, s.id, s.posted)
	}
	s.askedAt = s.asked()
}

// slipped reports whether the product did not stand still up to the kill: on a
// busy machine an attempt may be given up, and the next one has gone on.
func (s *scene) slipped() bool {
	over := s.asked() != s.askedAt
	for _, r := range s.readers {
		over = over || r.ended() && !s.endsBefore
	}
	return over
}

// open starts a run and follows it.
func (s *scene) open(request testkit.RunRequest) {
	s.t.Helper()
	stream, err := s.api().WithHeader("Idempotency-Key", s.key()).StreamRun(patient(s.t), s.id, request)
	require.NoError(s.t, err)
	s.t.Cleanup(stream.Close)
	r := follow(stream)
	s.readers, s.run = append(s.readers, r), r.run
}

// key is another one for each run that is followed, and the same for one that is
// asked for again.
func (s *scene) key() string { return fmt.Sprintf("%s-%d", s.id, len(s.readers)) }

// post asks for a run and is not answered.
func (s *scene) post() {
	s.posted = make(chan error, 1)
	api := s.api().WithHeader("Idempotency-Key", s.key())
	ctx, request := patient(s.t), s.say("the question")
	go func() {
		_, err := api.StreamRun(ctx, s.id, request)
		s.posted <- err
	}()
}

// stop asks for a cancel and is not answered.
func (s *scene) stop(action string) {
	s.posted = make(chan error, 1)
	api, ctx := s.api(), patient(s.t)
	go func() { s.posted <- api.CancelRun(ctx, s.id, s.run, testkit.CancelOptions{Action: action}) }()
}

// comeBack is what the client does first after the restart: it asks again, or
// follows on.
func (s *scene) comeBack(v victims) {
	s.t.Helper()
	if s.posted != nil {
		require.Error(s.t, <-s.posted, "who was killed did not answer")
	}
	switch {
	case s.posting:
		s.open(s.say("the question"))
	case v.api || s.sys.dev != nil:
		for _, r := range s.readers {
			r.reconnect(s.t)
		}
	}
}

// finish goes on up to the end of the run.
func (s *scene) finish() {
	s.t.Helper()
	if s.after != nil {
		s.after(s)
	}
	for _, r := range s.readers {
		r.awaitEnd(s.t)
	}
	status := s.status
	if status == "" {
		status = "success"
	}
	_, err := s.api().AwaitRun(patient(s.t), s.id, s.run, status)
	require.NoError(s.t, err)
	for _, run := range s.queued {
		_, err := s.api().AwaitRun(patient(s.t), s.id, run, "success", "interrupted")
		require.NoError(s.t, err)
	}
}

// verify checks what is left.
func (s *scene) verify(v victims) {
	s.t.Helper()
	messages := s.messages()
	require.NoError(s.t, matches(append(s.history, s.want(v)...), shape(messages)))
	seen := map[string]bool{}
	for _, m := range messages {
		require.False(s.t, seen[m.ID], "message %s is there twice", m.ID)
		seen[m.ID] = true
	}
	for _, r := range s.readers {
		s.verifyReader(r, messages)
	}
	s.verifyPaid(v)
	if s.check != nil {
		s.check(s, v)
	}
	s.plainRun("afterwards")
	require.Len(s.t, s.messages(), len(messages)+2, "the thread is usable")
}

// verifyPaid checks that no answer was asked for again once its row was there. An
// attempt that a busy machine has given up may be made once more: it shows as a
// claim.
func (s *scene) verifyPaid(v victims) {
	s.t.Helper()
	s.mu.Lock()
	asked, total := s.requests, s.total
	s.mu.Unlock()
	claims := s.sys.modelClaims(s.t, s.id)
	require.LessOrEqual(s.t, total, claims, "a request to the model without a claim")
	require.GreaterOrEqual(s.t, asked, s.paid(v), "requests to the model")
	if asked > s.paid(v) {
		require.NotZero(s.t, s.sys.crowd, "%d requests to the model, not %d", asked, s.paid(v))
		s.t.Logf("%s: the machine is too busy, %d attempts were given up", s.name, asked-s.paid(v))
	}
}

// verifyReader checks that a reader has seen each event once and ends with the
// texts of its run, and that one who comes later sees the same.
func (s *scene) verifyReader(r *reader, messages []testkit.Message) {
	s.t.Helper()
	frames := r.all()
	seen := map[string]bool{}
	for _, id := range ids(frames) {
		require.False(s.t, seen[id], "event %s came twice", id)
		seen[id] = true
	}
	if s.status != "error" { // what was rolled back is not in the transcript
		screen := readAll(s.t, frames)
		for _, m := range messages {
			if text, shown := screen.text[m.ID]; shown {
				require.Equal(s.t, m.Text(), text, "what the reader has on the screen")
				delete(screen.text, m.ID)
			}
		}
		require.Empty(s.t, screen.text, "the reader has texts that nobody said")
	}
	later, err := s.api().JoinStream(patient(s.t), s.id, r.run, "-1")
	require.NoError(s.t, err)
	defer later.Close()
	same, err := later.Until(patient(s.t), testkit.IsEvent("end"))
	require.NoError(s.t, err)
	require.Equal(s.t, ids(same), ids(frames), "a later reader sees the same")
}

func (s *scene) messages() []testkit.Message {
	s.t.Helper()
	return messagesOf(s.t, s.api(), s.id)
}

func messagesOf(t *testing.T, api *testkit.API, threadID string) []testkit.Message {
	t.Helper()
	state, err := api.State(patient(t), threadID)
	require.NoError(t, err)
	messages, err := state.Values.Messages()
	require.NoError(t, err)
	return messages
}

// lines are those of a file in the thread's workspace; none when it is not there.
func (s *scene) lines(name string) []string {
	s.t.Helper()
	return linesOf(s.t, filepath.Join(s.sys.workspace(s.id), name))
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if !exists(path) {
		return nil
	}
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// awaitFile waits until a tool has written the file: from then on it runs.
func (s *scene) awaitFile(name string) {
	s.t.Helper()
	path := filepath.Join(s.sys.workspace(s.id), name)
	require.Eventually(s.t, func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > 0
	}, patience, tick, "%s is not written", name)
}

// report says how long the thread took to go on.
func (s *scene) report(v victims) {
	s.t.Helper()
	var next, end time.Duration
	for _, r := range s.readers {
		for _, f := range r.all() {
			since := f.At.Sub(s.sys.killed).Round(time.Millisecond)
			if since > 0 && (next == 0 || since < next) {
				next = since
			}
			end = max(end, since)
		}
	}
	if end == 0 {
		s.t.Logf("%-62s %-13s had ended before the kill", s.name, v)
		return
	}
	s.t.Logf("%-62s %-13s went on after %6v, its run had ended after %6v", s.name, v, next, end)
}

// shape lists types, texts and calls. The name of the thread is left out.
func shape(messages []testkit.Message) []string {
	var out []string
	for _, m := range messages {
		line := m.Type + ": " + strings.TrimSpace(marked.ReplaceAllString(m.Text(), ""))
		for _, c := range m.ToolCalls {
			line += " >" + c.Name
		}
		out = append(out, line)
	}
	return out
}

// matches compares a transcript with what is wanted.
func matches(want, got []string) error {
	same := len(want) == len(got)
	for i := 0; same && i < len(want); i++ {
		if open, found := strings.CutSuffix(want[i], "*"); found {
			same = strings.HasPrefix(got[i], open)
		} else {
			same = want[i] == got[i]
		}
	}
	if same {
		return nil
	}
	return fmt.Errorf("the transcript is\n  %s\nbut should be\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
}
