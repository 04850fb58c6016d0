package cases

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"deerflow/internal/step"
	. "deerflow/internal/testkit"
)

// A conversion that a kill cuts off is done by the next process, once.
func TestAConversionOutlivesAKill(t *testing.T) {
	t.Parallel()
	p := StartDev(t, DevOptions{})
	content := PDF("# The Report\nThe first PDF of a machine takes seconds: the engine is compiled for it.")
	id := step.Conversion{Thread: "t1", Name: "report.pdf", Size: int64(len(content))}.WorkflowID()
	c := dial(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	uploaded := make(chan error, 1)
	go func() {
		_, err := p.API().Upload(ctx, "t1", UploadFile{Name: "report.pdf", Content: content})
		uploaded <- err
	}()
	require.Eventually(t, func() bool {
		d, err := c.DescribeWorkflowExecution(ctx, id, "")
		return err == nil && len(d.GetPendingActivities()) == 1 && d.GetPendingActivities()[0].GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED
	}, patience, 2*time.Millisecond, "the conversion is under way")
	p.Kill9()
	require.Error(t, <-uploaded)

	p = restarted(p)
	var list Upload
	require.Eventually(t, func() bool {
		_, err := p.API().WithPrefix("/api").Do(ctx, http.MethodGet, "/threads/t1/uploads/list", nil, &list)
		require.NoError(t, err)
		return len(list.Files) == 1 && list.Files[0].MarkdownFile != ""
	}, 2*patience, 50*time.Millisecond)
	require.Equal(t, "report.md", list.Files[0].MarkdownFile)
}
