package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// A result of 3 MB in a window of 32,000 tokens: the model gets a synopsis and
// reads on in the file, and the thread stays usable.
func TestD01S1AGiantToolResult(t *testing.T) {
	m := NewModel(t, WithWindow(32_000))
	config := strings.Replace(ConfigFor(m), "allow_host_bash: true", "allow_host_bash: true\n  bash_output_max_chars: 0", 1)
	p := StartDev(t, DevOptions{Config: config})
	id := newThread(t, p.API())

	res := toolResults(t, m, p, id, "giant", sh("seq -f 'line %.0f of a long log' 1 150000"))
	require.Less(t, len(res[0]), 5000)
	require.Contains(t, res[0], "line 1 of a long log\n")
	require.Contains(t, res[0], "line 150000 of a long log\n")
	file := regexp.MustCompile(`/mnt/user-data/outputs/\.tool-results/bash-[0-9a-f]{12}\.log`).FindString(res[0])
	require.NotEmpty(t, file, res[0])
	info, err := os.Stat(filepath.Join(userDir(p, id), strings.TrimPrefix(file, "/mnt/user-data/")))
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(3<<20))

	res = toolResults(t, m, p, id, "paging", rd(file, "start_line", 70_000, "end_line", 70_001), tool("glob", "path", "/mnt/user-data", "pattern", "**/*"))
	require.Equal(t, "line 70000 of a long log\nline 70001 of a long log", res[0])

	state, err := p.API().State(patient(t), id)
	require.NoError(t, err)
	require.NotContains(t, string(state.Values["artifacts"]), "tool-results", "10.17-10")
	m.On(LastUser("and now?")).Respond(ByTurn(Text("fine")))
	require.Equal(t, "success", run(t, p.API(), id, "and now?").Status)
}
