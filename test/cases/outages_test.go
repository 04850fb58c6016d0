package cases

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// M08: continue-as-new with a queue, a question and a reader.
func TestM08ContinueAsNew(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("look")).Respond(func(r *Request) Reply {
		switch {
		case r.Turn() < 6:
			return ToolCalls(ls("", fmt.Sprintf("/mnt/user-data/%d", r.Turn())), call("", "glob", map[string]any{"description": "d", "path": "/mnt/user-data", "pattern": fmt.Sprintf("*%d", r.Turn())}))
		default:
			return ToolCalls(ask("call_0", "Which one?"))
		}
	})
	m.On(LastUser("my answer is")).Respond(func(r *Request) Reply {
		if r.Turn() < 6 {
			return ToolCalls(ls("", fmt.Sprintf("/mnt/user-data/b%d", r.Turn())))
		}
		return Text("done")
	})
	m.Respond(func(r *Request) Reply { return Text("answer to " + r.LastUser()) })
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 20")})
	for range 2 {
		id := newThread(t, p.API())
		s, err := p.API().StreamRun(patient(t), id, SayWatched("look"))
		require.NoError(t, err)
		frames, err := s.Until(patient(t), IsEvent("end"))
		require.NoError(t, err)
		noDoubles(t, frames)
		th, err := p.API().Thread(patient(t), id)
		require.NoError(t, err)
		require.Equal(t, "interrupted", th.Status)
		req := Resume("this")
		req.StreamMode = WatchModes()
		s, err = p.API().StreamRun(patient(t), id, req)
		require.NoError(t, err)
		for i := range 3 {
			q := SayWatched(fmt.Sprintf("q%d", i))
			q.MultitaskStrategy = "enqueue"
			_, err := p.API().CreateRun(patient(t), id, q)
			require.NoError(t, err)
		}
		frames, err = s.Until(patient(t), IsEvent("end"))
		require.NoError(t, err)
		noDoubles(t, frames)
		awaitAll(t, p.API(), id, "success")
		list := messages(t, p.API(), id)
		t.Logf("%q", shape(list))
		require.Len(t, list, 1+6*3+2+1+6*2+1+6)
	}
}

// M10, M04, M14
func TestM10Outage(t *testing.T) {
	m := NewModel(t)
	begin := time.Now()
	m.Respond(func(r *Request) Reply {
		if time.Since(begin) < 5*time.Second {
			return APIError(503, "", "try later")
		}
		return Text("back")
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	begin = time.Now()
	id := newThread(t, p.API())
	s, err := p.API().StreamRun(patient(t), id, SayWatched("go"))
	require.NoError(t, err)
	frames, err := s.Until(patient(t), IsEvent("end"))
	require.NoError(t, err)
	retries := 0
	for _, f := range frames {
		if strings.Contains(f.Data, "llm_retry") {
			retries++
		}
	}
	require.NotZero(t, retries)
	t.Logf("%d retries told, %d requests", retries, len(m.Requests()))
	require.Equal(t, []string{"human: go", "ai: back"}, shape(messages(t, p.API(), id)))
}
