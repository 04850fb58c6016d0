package cases

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	. "deerflow/internal/testkit"
	"deerflow/internal/thread"
)

var (
	interleavingSeed = flag.Uint64("interleaving.seed", 0, "seed of TestE08AnyInterleaving; 0 takes a new one")
	interleavingTime = flag.Duration("interleaving.time", 20*time.Second, "how long TestE08AnyInterleaving acts")
)

// E08, E13: several threads on which people submit with any strategy, stop,
// answer and send signals at random, while the process is killed now and then.
// Whatever happens: what was acknowledged has one run that ends, its message is
// in the transcript once unless it was taken back, in the order in which it was
// sent, with its answer behind it if it succeeded; unsafe tools ran once at most;
// and every thread is usable afterwards. The strict model sees that every request
// is valid.
func TestE08AnyInterleaving(t *testing.T) {
	seed := *interleavingSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("again with: -interleaving.seed=%d", seed)
	m := NewModel(t)
	newActor(m)
	w := &interleaving{p: StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 20")})}
	w.api = w.p.API()
	until := time.Now().Add(*interleavingTime)
	var people []*person
	var wg sync.WaitGroup
	for i := range uint64(4) {
		a := &person{w: w, id: newThread(t, w.api), rand: rand.New(rand.NewPCG(seed, i))}
		people = append(people, a)
		wg.Go(func() {
			for time.Now().Before(until) {
				a.act(t)
			}
		})
	}
	kills := rand.New(rand.NewPCG(seed, 99))
	for range 2 {
		time.Sleep(time.Duration(kills.Int64N(int64(*interleavingTime / 2))))
		w.restart()
	}
	wg.Wait()
	for i, a := range people {
		t.Logf("thread %d: %d submissions, %d stops, %d signals", i, len(a.sent), a.stops, a.signals)
		a.check(t)
	}
}

// interleaving is the system that all act on.
type interleaving struct {
	api *API // stays valid over restarts: the address is the same

	mu sync.Mutex
	p  *Process
}

func (w *interleaving) process() *Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.p
}

func (w *interleaving) restart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.p.Kill9()
	w.p = restarted(w.p)
}

// person acts on one thread, one thing after the other.
type person struct {
	w    *interleaving
	id   string
	rand *rand.Rand

	made    int
	sent    []*sending
	stops   int
	signals int
}

// sending is one acknowledged submission.
type sending struct {
	text       string
	run        string
	maybeTaken bool // back: a rollback of it was asked for, or of what it answers
}

func (a *person) act(t *testing.T) {
	t.Helper()
	switch n := a.rand.IntN(10); {
	case n < 6:
		a.submit(t)
	case n < 8 && len(a.sent) > 0:
		a.stop(t)
	case n == 8:
		a.signal(t)
	default:
		time.Sleep(time.Duration(a.rand.IntN(60)) * time.Millisecond) // lets a run get somewhere
	}
}

// insist repeats a request as a client does that gets no answer.
func insist(t *testing.T, call func() error) error {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := call()
		var answer *HTTPError
		if err == nil || errors.As(err, &answer) && answer.Status != 503 {
			return err
		}
		if time.Now().After(deadline) {
			t.Errorf("no answer for %v: %v", patience, err)
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (a *person) submit(t *testing.T) {
	t.Helper()
	a.made++
	text := fmt.Sprintf("%s m%d.", []string{"plain", "flow", "flow", "log", "ask"}[a.rand.IntN(5)], a.made)
	req := SayWatched(text)
	if a.rand.IntN(4) == 0 {
		text = fmt.Sprintf("resumed m%d.", a.made)
		req = Resume(text)
	}
	req.MultitaskStrategy = []string{"", "reject", "interrupt", "rollback", "enqueue", "enqueue"}[a.rand.IntN(6)]
	api := a.w.api.WithHeader("Idempotency-Key", fmt.Sprintf("key-%d", a.made))
	var r Run
	err := insist(t, func() (err error) { r, err = api.CreateRun(patient(t), a.id, req); return err })
	if err != nil {
		if code := StatusOf(err); code != 409 && code != 422 {
			t.Errorf("submit %q: %v", text, err)
		}
		return
	}
	a.sent = append(a.sent, &sending{text: text, run: r.RunID})
	if req.MultitaskStrategy == "rollback" {
		a.takenBack()
	}
}

// takenBack notes that what is under way may be rolled back.
func (a *person) takenBack() {
	for _, s := range a.sent {
		s.maybeTaken = true
	}
}

func (a *person) stop(t *testing.T) {
	t.Helper()
	a.stops++
	recent := a.sent[max(0, len(a.sent)-3):]
	s := recent[a.rand.IntN(len(recent))]
	action := []string{"interrupt", "interrupt", "rollback"}[a.rand.IntN(3)]
	if action == "rollback" {
		a.takenBack()
	}
	err := insist(t, func() error {
		return a.w.api.CancelRun(patient(t), a.id, s.run, CancelOptions{Action: action})
	})
	if err != nil && StatusOf(err) != 409 {
		t.Errorf("stop %s: %v", s.text, err)
	}
}

// signal answers by a signal, if a question happens to be open. A process that is
// being killed may not take it.
func (a *person) signal(t *testing.T) {
	t.Helper()
	a.signals++
	a.made++
	c, err := tryDial(a.w.process())
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SignalWorkflow(patient(t), thread.WorkflowID(a.id), "", step.SignalAnswer, step.Answer{Text: fmt.Sprintf("signalled m%d.", a.made)})
}

var numbered = regexp.MustCompile(`(\w+) (m\d+\.)$`)

// check waits until all is still and looks at what is there.
func (a *person) check(t *testing.T) {
	t.Helper()
	api := a.w.api
	runs, err := api.Runs(patient(t), a.id)
	require.NoError(t, err)
	ends := map[string]string{}
	for _, r := range runs {
		ends[r.RunID] = end(t, api, a.id, r.RunID)
	}
	list := messages(t, api, a.id)
	numbers := make([]int, 0, len(list))
	place := map[string]int{}
	for i, m := range list {
		if m.Type != "human" {
			continue
		}
		found := numbered.FindStringSubmatch(m.Text())
		require.NotNil(t, found, "%q was never sent", m.Text())
		var n int
		_, err := fmt.Sscanf(found[2], "m%d.", &n)
		require.NoError(t, err)
		require.NotContains(t, place, found[2], "a message is there twice: %q", shape(list))
		place[found[2]] = i
		numbers = append(numbers, n)
	}
	require.True(t, slices.IsSorted(numbers), "in the order in which they were sent: %v", numbers)
	for _, s := range a.sent {
		status, known := ends[s.run]
		require.True(t, known, "the run of %q is lost", s.text)
		number := s.text[strings.Index(s.text, " ")+1:]
		at, there := place[number]
		switch status {
		case "success":
			if !there {
				require.True(t, s.maybeTaken, "%q succeeded and is not there: %q", s.text, shape(list))
				continue
			}
			require.Greater(t, len(list), at+1, "%q has no answer", s.text)
			require.Equal(t, "ai", list[at+1].Type)
		case "error":
			require.False(t, there, "%q was rolled back and is there: %q", s.text, shape(list))
			require.True(t, s.maybeTaken, "%q failed", s.text)
		case "interrupted":
		default:
			t.Errorf("%q ended with %s", s.text, status)
		}
	}
	ids := map[string]bool{}
	for _, m := range list {
		require.False(t, ids[m.ID], "two messages have the id %s", m.ID)
		ids[m.ID] = true
	}
	a.checkEffects(t)
	usable(t, api, a.id)
}

// checkEffects reads what the commands of the thread have written.
func (a *person) checkEffects(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(userDir(a.w.process(), a.id), "workspace", "log.txt"))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	require.NoError(t, err)
	lines := strings.Fields(string(data))
	slices.Sort(lines)
	require.Equal(t, slices.Compact(slices.Clone(lines)), lines, "a command ran twice")
}
