package crash

import (
	"strings"

	"github.com/stretchr/testify/require"

	"deerflow/internal/failpoint"
	"deerflow/internal/testkit"
)

// questionMoments are those while a person is asked.
func questionMoments() []moment {
	question := func(name string) moment {
		return moment{
			name: name, kills: anywhere, endsBefore: true,
			reply: func(_ *scene, r *testkit.Request, _ int) testkit.Reply {
				if strings.Contains(r.LastUser(), "my answer is: ") {
					return testkit.Text("a report for engineers")
				}
				return testkit.ToolCalls(call("", "ask_clarification", map[string]any{
					"question": "For whom is it?", "clarification_type": "missing_info", "options": []string{"engineers", "managers"},
				}))
			},
			after: func(s *scene) {
				th, err := s.api().Thread(patient(s.t), s.id)
				require.NoError(s.t, err)
				require.Equal(s.t, "interrupted", th.Status, "the question goes on waiting")
				resume := testkit.Resume("engineers")
				resume.StreamMode = testkit.WatchModes()
				s.open(resume)
			},
			want: always(list("human: the question", "ai:  >ask_clarification", "tool: *", "human: *", "ai: a report for engineers")),
			paid: always(2),
		}
	}
	waits := question("a question waits")
	waits.begin = func(s *scene) { s.readers[0].awaitEnd(s.t) }
	stored := question("a question is stored, the wait not acknowledged")
	stored.point, stored.fresh, stored.fleeting, stored.kills = failpoint.CommitStored, true, true, inWorker
	return []moment{waits, stored}
}
