package cases

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// seen is what a reader got, in the order in which it came.
type seen struct {
	frames []Frame
	err    error
}

func (s seen) lines() []string {
	out := make([]string, 0, len(s.frames))
	for _, f := range s.frames {
		if f.Event == "end" { // it has no id of its own
			f.ID = ""
		}
		out = append(out, f.ID+" "+f.Event+" "+f.Data)
	}
	return out
}

// E01, E06: ten readers of one run, there from the start, late, or broken off and
// come back, see the same frames in the same order, over a stop, a question, a
// retried model call and continue-as-new.
func TestE06TenReadersSeeTheSame(t *testing.T) {
	m := NewModel(t)
	a := newActor(m)
	m.On(LastUser("retry me")).Enqueue(Steps(Send(text("first try")), Pause(50*time.Millisecond), Cut()))
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 20")})
	api := p.API()
	for _, verb := range []string{"flow", "hold", "long", "ask", "tool", "retry"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			ctx, id := patient(t), newThread(t, api)
			require.Equal(t, "success", run(t, api, id, "before").Status)
			text := verb + " readers-" + verb
			if verb == "retry" {
				text = "retry me"
			}
			r, err := api.CreateRun(ctx, id, SayWatched(text))
			require.NoError(t, err)
			readers := make([]seen, 10)
			var wg sync.WaitGroup
			for i := range readers {
				if i == 5 { // the others come in the middle
					a.under(t, p, r, verb, "readers-"+verb)
				}
				wg.Go(func() { readers[i] = readRun(t, api, r, i%3 == 2) })
			}
			switch verb {
			case "hold":
				require.NoError(t, api.CancelRun(ctx, id, r.RunID, CancelOptions{Wait: true}))
			case "long", "tool":
				a.let(t, p, id, "readers-"+verb)
			}
			end(t, api, id, r.RunID)
			wg.Wait()
			want := readRun(t, api, r, false) // one who comes when all is over
			require.NoError(t, want.err)
			require.Equal(t, "end", want.frames[len(want.frames)-1].Event)
			noDoubles(t, want.frames)
			for i, got := range readers {
				require.NoError(t, got.err, "reader %d", i)
				require.Equal(t, want.lines(), got.lines(), "reader %d", i)
			}
		})
	}
}

// readRun reads a run to its end; one that is broken closes its connection every
// few frames and goes on where it was.
func readRun(t *testing.T, api *API, r Run, broken bool) seen {
	t.Helper()
	var out seen
	s, err := api.JoinStream(patient(t), r.ThreadID, r.RunID, "")
	for n := 1; ; n++ {
		if err != nil {
			return seen{err: err}
		}
		var f Frame
		if f, err = s.Next(patient(t)); err != nil {
			return seen{err: fmt.Errorf("after %d frames: %w", len(out.frames), err)}
		}
		out.frames = append(out.frames, f)
		if f.Event == "end" {
			s.Close()
			return out
		}
		if broken && n%4 == 0 {
			s.Close()
			s, err = api.JoinStream(patient(t), r.ThreadID, r.RunID, f.ID)
		}
	}
}

// The readers of a thread see run after run in one order, the same for all.
func TestE06ReadersOfAThread(t *testing.T) {
	m := NewModel(t)
	newActor(m)
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 20")})
	api := p.API()
	id := newThread(t, api)
	const runs = 6
	readers := make([]seen, 10)
	var wg sync.WaitGroup
	for i := range readers {
		s, err := api.JoinThread(patient(t), id, "-1", "run_modes")
		require.NoError(t, err)
		wg.Go(func() {
			defer s.Close()
			for ended := 0; ended < runs; {
				f, err := s.Next(patient(t))
				if err != nil {
					readers[i].err = err
					return
				}
				readers[i].frames = append(readers[i].frames, f)
				if f.Event == "run_done" {
					ended++
				}
			}
		})
	}
	order := rand.New(rand.NewPCG(1, 2))
	var posted []string
	for i := range runs {
		req := SayWatched([]string{"flow", "log", "plain"}[order.IntN(3)] + fmt.Sprintf(" r%d", i))
		req.MultitaskStrategy = []string{"enqueue", "interrupt"}[order.IntN(2)]
		r, err := api.CreateRun(patient(t), id, req)
		require.NoError(t, err)
		posted = append(posted, r.RunID)
	}
	for _, runID := range posted {
		end(t, api, id, runID)
	}
	wg.Wait()
	for i, got := range readers {
		require.NoError(t, got.err, "reader %d", i)
		require.Equal(t, readers[0].lines(), got.lines(), "reader %d", i)
	}
	noDoubles(t, slices.DeleteFunc(slices.Clone(readers[0].frames), func(f Frame) bool { return f.Event == "run_done" }))
}
