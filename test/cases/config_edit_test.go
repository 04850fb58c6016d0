package cases

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// The configuration is edited while a run waits with a question: the next run
// goes by the edit, the waiting one by the plan it started with. A file with a
// mistake changes nothing, and is logged.
func TestTheConfigurationIsEditedWhileARunWaits(t *testing.T) {
	m := NewModel(t)
	m.On(AllOf(LastUser("which report?"), ForModel("kit-model"))).Respond(ByTurn(ToolCalls(ask("call_q", "Which year?"))))
	m.On(AllOf(LastUser("2026"), ForModel("kit-model"))).Respond(ByTurn(Text("kept")))
	m.On(AllOf(LastUser("another"), ForModel("new-model"))).Respond(ByTurn(Text("edited")))
	old := ConfigFor(m)
	path := filepath.Join(t.TempDir(), "config.yaml")
	write(t, path, old)
	p := StartDev(t, DevOptions{ConfigPath: path})
	ctx, api := patient(t), p.API()
	waiting := newThread(t, api)
	require.Equal(t, "success", run(t, api, waiting, "which report?").Status)

	entry := strings.NewReplacer("name: kit", "name: new", "kit-model", "new-model").
		Replace(strings.TrimPrefix(old[:strings.Index(old, "sandbox:")], "models:\n"))
	edited := strings.Replace(old, "models:\n", "models:\n"+entry, 1)
	write(t, path, edited)
	require.Eventually(t, func() bool { return strings.Contains(info(t, p), `"default_model":"new"`) }, time.Minute, 20*time.Millisecond)

	other := newThread(t, api)
	require.Equal(t, "success", run(t, api, other, "another").Status)
	require.Equal(t, "edited", last(messages(t, api, other)).Text())

	write(t, path, strings.Replace(edited, "llm_call:", "llm_cal: {}\nthread: {max_trns: 3}\nllm_call:", 1))
	require.Eventually(t, func() bool {
		info(t, p) // whoever asks for a setting looks at the file
		return strings.Contains(p.Output(), "unknown key max_trns")
	}, time.Minute, 20*time.Millisecond)
	require.Contains(t, info(t, p), `"default_model":"new"`, "the last good file stays in force")

	r := do(t, api, waiting, Resume("2026"))
	require.Equal(t, "success", r.Status)
	require.Equal(t, "kept", last(messages(t, api, waiting)).Text())
	require.Equal(t, 1, strings.Count(p.Output(), "unknown key max_trns"), "it is logged once")
	require.NoError(t, os.Remove(path))
	require.Equal(t, "success", func() string {
		m.On(LastUser("without a file")).Respond(ByTurn(Text("fine")))
		return run(t, api, other, "without a file").Status
	}())
	require.NoError(t, ctx.Err())
}

func info(t *testing.T, p *Process) string {
	t.Helper()
	resp, err := http.Get(p.URL + "/info")
	require.NoError(t, err)
	defer resp.Body.Close()
	var body strings.Builder
	_, err = io.Copy(&body, resp.Body)
	require.NoError(t, err)
	return body.String()
}
