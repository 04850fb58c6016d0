package change

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"deerflow/internal/step"
	. "deerflow/internal/testkit"
	product "deerflow/worker"
)

// The workflow of a conversion replays.
func TestConversionReplays(t *testing.T) {
	t.Parallel()
	p := StartDev(t, DevOptions{})
	c := dial(t, p.Temporal)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	content := Docx("# A heading", "and some text")
	_, err := p.API().Upload(ctx, "t1", UploadFile{Name: "a.docx", Content: content})
	require.NoError(t, err)
	id := step.Conversion{Thread: "t1", Name: "a.docx", Size: int64(len(content))}.WorkflowID()
	run := c.GetWorkflow(ctx, id, "")
	var out step.Converted
	require.NoError(t, run.Get(ctx, &out))
	require.Equal(t, step.Converted{Text: "a.md"}, out)

	history := historyOf(ctx, t, c, id, run.GetRunID())
	require.Empty(t, faults(history))
	replayer := worker.NewWorkflowReplayer()
	product.Register(replayer)
	require.NoError(t, replayer.ReplayWorkflowHistory(quiet(), history))
	record(t, "conversion", []execution{{runID: run.GetRunID(), history: history}})
}
