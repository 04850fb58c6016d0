package thread

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheDigestHasTheFileThatWasRead(t *testing.T) {
	t.Parallel()
	mark := FileMark{Path: "/mnt/user-data/workspace/f", Hash: "ab"}
	read := func(value any, role Role, status ToolStatus) *FileMark {
		m := Message{Role: role, Status: status}
		m.SetKwarg(KeyReadMark, value)
		return m.Digest(1).Read
	}
	require.Equal(t, &mark, read(mark, RoleTool, ToolSuccess))
	require.Equal(t, &mark, read(map[string]any{"path": mark.Path, "hash": mark.Hash}, RoleTool, ToolSuccess))
	require.Nil(t, read(mark, RoleTool, ToolError), "nothing was shown")
	require.Nil(t, read(mark, RoleHuman, ""), "no tool")
	require.Nil(t, read("text", RoleTool, ToolSuccess))
	require.Nil(t, read(map[string]any{"path": mark.Path}, RoleTool, ToolSuccess))

	m := Message{Role: RoleTool, Status: ToolSuccess}
	m.SetKwarg(KeyReadMark, mark)
	data, err := json.Marshal(m)
	require.NoError(t, err)
	var stored Message
	require.NoError(t, json.Unmarshal(data, &stored))
	require.Equal(t, &mark, stored.Digest(1).Read, "also from the row")
}
