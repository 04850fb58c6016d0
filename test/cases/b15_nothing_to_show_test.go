package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

func TestB15NothingToShow(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	runWires(t, m, p, []wire{
		{
			name: "B15a", replies: []Reply{ToolCalls(ls("a", "/mnt/user-data")), Text("")}, answer: "fine",
			more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
				t.Helper()
				require.Len(t, reqs, 3)
			},
		},
		{
			name: "B15b", status: "error", replies: []Reply{ToolCalls(ls("a", "/mnt/user-data")), Text("", WithReasoning("hm")), Text("", WithReasoning("hm"))},
			more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
				t.Helper()
				require.NotEmpty(t, last(list).Text())
				require.Len(t, reqs, 3)
				require.Equal(t, "user", reqs[2].Messages[len(reqs[2].Messages)-1].Role, "the nudge")
				for _, x := range list {
					require.NotContains(t, x.Text(), "Give your final answer now", "the nudge is not kept")
				}
			},
		},
	})
}
