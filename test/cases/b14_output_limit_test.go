package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

func TestB14OutputLimitThreeTimes(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	runWires(t, m, p, []wire{
		{name: "B14three", status: "success", answer: "output limit", replies: []Reply{
			ToolCalls(writeFile("l1", "keep.md", "a")).With(WithFinish("length")),
			ToolCalls(writeFile("l2", "keep.md", "ab")).With(WithFinish("length")),
			ToolCalls(writeFile("l3", "keep.md", "abc")).With(WithFinish("length")),
		}, more: func(t *testing.T, p *Process, id string, list []Message, reqs []*Request) {
			t.Helper()
			require.Len(t, reqs, 3, "the third time in a row the run stops")
		}},
	})
}
