package cases

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// 10.5: a file that exists is changed only as the model has last read it.
func TestReadBeforeWriteInAThread(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	const path = "/mnt/user-data/workspace/notes.md"
	put := func(content string) Call { return tool("write_file", "path", path, "content", content) }
	more := func(content string) Call {
		return tool("write_file", "path", "./notes.md", "content", content, "append", true)
	}

	require.Equal(t, []string{"OK"}, toolResults(t, m, p, id, "create", put("one\n")), "a new file")
	require.Contains(t, toolResults(t, m, p, id, "blind", put("two\n"))[0], "has not been read since it last changed")
	toolResults(t, m, p, id, "look", rd(path, "end_line", 1))
	require.Equal(t, []string{"OK"}, toolResults(t, m, p, id, "replace", tool("str_replace", "path", path, "old_str", "one", "new_str", "two")))
	require.Contains(t, toolResults(t, m, p, id, "twice", more("three\n"))[0], "has not been read since it last changed", "a change has to be read, too")

	toolResults(t, m, p, id, "again", rd("notes.md"))
	res := toolResults(t, m, p, id, "parallel", more("a\n"), more("b\n"))
	slices.Sort(res)
	require.Contains(t, res[0], "has not been read since it last changed")
	require.Equal(t, "OK", res[1], "of two after one read, one lands")

	write(t, filepath.Join(userDir(p, id), "workspace", "notes.md"), "of another hand\n")
	require.Contains(t, toolResults(t, m, p, id, "other", put("mine\n"))[0], "has not been read since it last changed")
}
