package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// actor is a model that does what the user's message says:
//
//	hold K    an answer of four pieces, held after the second at K's gate
//	tool K    a command that waits for K's file, beside a quick tool
//	ask K     a question
//	long K    six turns of a quick tool, then as hold
//	flow K    an answer that takes about 100 ms
//	log K     a command that adds K to a file, then an answer
//
// Everything else, answers to questions too, is answered at once.
type actor struct {
	mu    sync.Mutex
	gates map[string]*Gate
}

func newActor(m *Model) *actor {
	a := &actor{gates: map[string]*Gate{}}
	m.Respond(a.reply)
	return a
}

// gate is the gate of a key.
func (a *actor) gate(key string) *Gate {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gates[key] == nil {
		a.gates[key] = NewGate()
	}
	return a.gates[key]
}

func (a *actor) reply(r *Request) Reply {
	said := r.LastUser()
	verb, key, _ := strings.Cut(said, " ")
	answer := "answer to " + said
	switch {
	case verb == "hold", verb == "long" && r.Turn() >= 6:
		return Text(answer, WithChunks(4), At(2, Hold(a.gate(key))))
	case verb == "long":
		return ToolCalls(ls("", fmt.Sprintf("/mnt/user-data/%d", r.Turn())))
	case verb == "ask" && r.Turn() == 0:
		return ToolCalls(ask("", "What, "+key+"?"))
	case verb == "flow":
		return Text(answer, WithChunks(5), WithDelay(flowDelay))
	case verb == "tool" && r.Turn() == 0:
		return ToolCalls(sh("touch started-"+key+"; until [ -e go-"+key+" ]; do sleep 0.02; done"), ls("", "/mnt/user-data"))
	case verb == "log" && r.Turn() == 0:
		return ToolCalls(sh("echo "+key+" >> log.txt"), ls("", "/mnt/user-data"))
	}
	return Text(answer)
}

// under waits until the work that a message asked for is under way: it stands
// at its gate, its command runs, or its question is open.
func (a *actor) under(t *testing.T, p *Process, r Run, verb, key string) {
	t.Helper()
	ctx := patient(t)
	switch verb {
	case "hold", "long":
		select {
		case <-a.gate(key).Reached():
		case <-ctx.Done():
			t.Fatalf("%s %s is not under way", verb, key)
		}
		shown, err := p.API().JoinStream(ctx, r.ThreadID, r.RunID, "")
		require.NoError(t, err)
		defer shown.Close()
		_, err = shown.Until(ctx, func(f Frame) bool { return f.Event == "messages" && strings.Contains(f.Data, `"answ`) })
		require.NoError(t, err)
	case "tool":
		awaitFile(t, filepath.Join(userDir(p, r.ThreadID), "workspace", "started-"+key))
	case "ask":
		awaitStatus(t, p.API(), r.ThreadID, "interrupted")
	}
}

// let lets work go on that was held.
func (a *actor) let(t *testing.T, p *Process, id, key string) {
	t.Helper()
	a.gate(key).Release()
	dir := filepath.Join(userDir(p, id), "workspace")
	if _, err := os.Stat(dir); err == nil {
		write(t, filepath.Join(dir, "go-"+key), "")
	}
}

func awaitStatus(t *testing.T, api *API, id, status string) {
	t.Helper()
	now := ""
	require.Eventually(t, func() bool {
		th, err := api.Thread(patient(t), id)
		if err == nil {
			now = th.Status
		}
		return now == status
	}, patience, eachMoment, "the thread does not become %s", status)
}

// humans lists what the user said, without the frame around an answer.
func humans(list []Message) []string {
	var out []string
	for _, m := range list {
		if m.Type == "human" {
			text := m.Text()
			if _, inner, ok := strings.Cut(text, "my answer is: "); ok {
				text = inner
			}
			out = append(out, text)
		}
	}
	return out
}
