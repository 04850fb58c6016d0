package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestThreadData(t *testing.T) {
	t.Parallel()
	m := &ThreadData{}
	u, err := m.BeforeRun(nil, &Run{ThreadID: "t1"})
	require.NoError(t, err)
	require.Equal(t, Update{State: thread.StateUpdate{ThreadData: &thread.DirectoryRef{
		Workspace: "/mnt/user-data/workspace", Uploads: "/mnt/user-data/uploads", Outputs: "/mnt/user-data/outputs",
	}}}, u)

	u, err = m.BeforeRun(nil, &Run{ThreadID: "t1", State: thread.State{ThreadData: u.State.ThreadData}})
	require.NoError(t, err)
	require.Equal(t, Update{}, u, "what the state has is not written again")

	_, err = m.BeforeRun(nil, &Run{})
	require.ErrorContains(t, err, "a run needs a thread")
}
