package cases

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"deerflow/internal/step"
	. "deerflow/internal/testkit"
	"deerflow/internal/thread"
)

// Answers to one question at the same moment: by HTTP twice, by an update and by
// a signal of Temporal. One is taken, the others are refused, and nothing of them
// stays.
func TestM08AnswersAtOnce(t *testing.T) {
	m := NewModel(t)
	newActor(m)
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread:\n  continue_as_new_events: 20")})
	api, c := p.API(), dial(t, p)
	for round := range 8 {
		id := newThread(t, api)
		require.Equal(t, "success", run(t, api, id, "ask me").Status)
		awaitStatus(t, api, id, "interrupted")
		workflow := thread.WorkflowID(id)
		answers := []func() error{
			func() error { _, err := api.CreateRun(patient(t), id, Resume("by http")); return err },
			func() error { _, err := api.CreateRun(patient(t), id, Resume("by http too")); return err },
			func() error {
				handle, err := c.UpdateWorkflow(patient(t), client.UpdateWorkflowOptions{
					WorkflowID: workflow, UpdateName: step.UpdateAnswer, Args: []any{step.Answer{Text: "by update"}},
					WaitForStage: client.WorkflowUpdateStageCompleted,
				})
				if err != nil {
					return err
				}
				return handle.Get(patient(t), nil)
			},
			func() error {
				return c.SignalWorkflow(patient(t), workflow, "", step.SignalAnswer, step.Answer{Text: "by signal"})
			},
		}
		errs := make([]error, len(answers))
		var wg sync.WaitGroup
		for i := range answers {
			at := (i + round) % len(answers) // another one is first each time
			wg.Go(func() { errs[at] = answers[at]() })
		}
		wg.Wait()
		require.NoError(t, errs[3], "a signal is never refused")
		for _, err := range errs[:2] {
			if err != nil {
				require.Equal(t, 409, StatusOf(err), "%v", err)
			}
		}
		awaitStatus(t, api, id, "idle")
		awaitAll(t, api, id, "success")
		list := messages(t, api, id)
		require.Len(t, list, 5, "%q", shape(list))
		taken := humans(list)[1]
		won := 0
		for i, text := range []string{"by http", "by http too", "by update"} {
			if errs[i] == nil {
				won++
				require.Equal(t, text, taken, "who was told so has answered")
			}
		}
		if won == 0 {
			require.Equal(t, "by signal", taken)
		}
		require.LessOrEqual(t, won, 1)
		require.True(t, strings.HasSuffix(last(list).Text(), taken))
		runs, err := api.Runs(patient(t), id)
		require.NoError(t, err)
		require.Len(t, runs, 2, "what was refused leaves no run")
		usable(t, api, id)
	}
}

// An answer and a stop of the question at the same moment: either the question is
// closed, and the answer refused or taken as a message of its own, or it is
// answered, and there is nothing to stop any more.
func TestM08AnswerAndStopAtOnce(t *testing.T) {
	m := NewModel(t)
	newActor(m)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	for round := range 8 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			id := newThread(t, api)
			first := run(t, api, id, "ask me")
			awaitStatus(t, api, id, "interrupted")
			var answered, stopped error
			var wg sync.WaitGroup
			wg.Go(func() { _, answered = api.CreateRun(patient(t), id, Resume("this")) })
			wg.Go(func() { stopped = api.CancelRun(patient(t), id, first.RunID, CancelOptions{}) })
			wg.Wait()
			awaitStatus(t, api, id, "idle")
			awaitAll(t, api, id, "success", "interrupted")
			list := messages(t, api, id)
			switch {
			case answered == nil:
				require.Contains(t, humans(list), "this")
			default:
				require.Contains(t, []int{409, 422}, StatusOf(answered), "%v", answered)
				require.NoError(t, stopped)
				require.NotContains(t, humans(list), "this")
			}
			if stopped != nil {
				require.Equal(t, 409, StatusOf(stopped))
			}
			usable(t, api, id)
		})
	}
}
