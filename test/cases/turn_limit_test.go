package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A model that asks for tools on its last turn all the same.
func TestC07TurnLimitHasALastWord(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("go on for ever")).Respond(func(r *Request) Reply {
		return ToolCalls(ls("", "/mnt/user-data/"+[]string{"a", "b", "c", "d", "e", "f"}[r.Turn()]))
	})
	m.On(AnyMessage("last turn")).Respond(func(r *Request) Reply { return ToolCalls(ls("", "/mnt/user-data")) })
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	req := SayWatched("go on for ever")
	req.Config = map[string]any{"recursion_limit": 3}
	r := do(t, p.API(), id, req)
	list := messages(t, p.API(), id)
	t.Logf("%s %s %q", r.Status, r.StopReason, shape(list))
	require.Equal(t, "success", r.Status)
	require.Equal(t, "turn_capped", r.StopReason)
	require.Contains(t, last(list).Text(), "turn limit")
	require.Equal(t, "success", run(t, p.API(), id, "on").Status)
}
