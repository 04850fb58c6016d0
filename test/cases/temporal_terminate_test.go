package cases

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
	"deerflow/internal/thread"
)

func TestTemporalTerminateByHand(t *testing.T) { byHand(t, "terminate") }

// The workflow of a thread is terminated in its first run, then the process is
// started again.
func TestTerminatedThenRestarted(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("tool")).Respond(ByTurn(ToolCalls(call("", "bash", map[string]any{"description": "d", "command": "touch started; sleep 2; echo hi"})), Text("fine")))
	m.Respond(func(r *Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	_, err := p.API().CreateRun(patient(t), id, SayWatched("tool"))
	require.NoError(t, err)
	req := SayWatched("queued")
	req.MultitaskStrategy = "enqueue"
	_, err = p.API().CreateRun(patient(t), id, req)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(messages(t, p.API(), id)) >= 3 }, patience, 20*time.Millisecond)
	awaitFile(t, filepath.Join(userDir(p, id), "workspace", "started"))
	require.NoError(t, dial(t, p).TerminateWorkflow(patient(t), thread.WorkflowID(id), "", "by hand"))
	p.Kill9()
	p = restarted(p)
	awaitAll(t, p.API(), id, "success", "interrupted")
	t.Logf("%q", shape(messages(t, p.API(), id)))
	require.Len(t, messages(t, p.API(), id), 4, "what a person has ended is not taken up; what waited behind it is")
	require.Equal(t, "success", run(t, p.API(), id, "go on").Status)
}
