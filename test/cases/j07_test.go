package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// J07: the files of a thread are removed between two calls.
func TestJ07DirectoryRemoved(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("files")).Respond(ByTurn(ToolCalls(sh("echo hi > b; cat b"), writeFile("", "a.md", "x")), Text("fine")))
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, "files").Status)
	for i, dir := range []string{userDir(p, id), filepath.Dir(userDir(p, id)), filepath.Join(p.DataDir, "users")} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			require.NoError(t, os.RemoveAll(dir))
			require.Equal(t, "success", run(t, api, id, "files").Status)
			list := messages(t, api, id)
			for _, x := range list[len(list)-3:] {
				t.Logf("%s", x.Text())
			}
			require.Contains(t, list[len(list)-3].Text(), "hi")
			require.Contains(t, list[len(list)-2].Text(), "OK")
		})
	}
}
