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
	require.Equal(t, []string{
		"human: tool", "ai:  >bash", "tool: Error: stopped by the user before bash ended. It may have run in part.",
		"human: queued", "ai: fine",
	}, shape(messages(t, p.API(), id)), "what a person has ended is not taken up, its call has a result; what waited behind it is")
	require.Equal(t, "success", run(t, p.API(), id, "go on").Status)
}
