package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// Every channel of the state is in the values of a thread, once it holds
// something; lists of threads of the platform's dialect have them, too.
func TestChannelsAreInTheValues(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	p.start(e.say(t, "t", "plan it"))
	images := map[string]thread.ViewedImage{"/mnt/user-data/uploads/a.png": {MimeType: "image/png", Size: 7, Path: "/mnt/user-data/uploads/a.png"}}
	p.commit(update(thread.StateUpdate{
		Todos:         &[]thread.Todo{{Content: "look", Status: thread.TodoInProgress}},
		UploadedFiles: &[]thread.UploadedFile{{Filename: "a.png", Size: 7, Path: "/mnt/user-data/uploads/a.png"}},
		ViewedImages:  &images,
		Promoted:      &thread.Promoted{CatalogHash: "h", Names: []string{"jira_search"}},
		Delegations:   []thread.Delegation{{ID: "call-1", Description: "dig", SubagentType: "general-purpose", Status: thread.DelegationCompleted, CreatedAt: "2026-01-01T00:00:00Z"}},
		SkillContext:  []thread.SkillRef{{Name: "charts", Path: "/mnt/skills/public/charts/SKILL.md", LoadedAt: "2026-01-01T00:00:00Z"}},
	}))
	p.model("Done.")
	p.success()

	full := []string{
		`"todos":[{"content":"look","status":"in_progress"}]`,
		`"uploaded_files":[{"filename":"a.png","size":7,"path":"/mnt/user-data/uploads/a.png"}]`,
		`"viewed_images":{"/mnt/user-data/uploads/a.png":{"mime_type":"image/png","size":7,"actual_path":"/mnt/user-data/uploads/a.png"}}`,
		`"promoted":{"catalog_hash":"h","names":["jira_search"]}`,
		`"delegations":[{"id":"call-1","description":"dig","subagent_type":"general-purpose","status":"completed","created_at":"2026-01-01T00:00:00Z"}]`,
		`"skill_context":[{"name":"charts","path":"/mnt/skills/public/charts/SKILL.md","description":"","loaded_at":"2026-01-01T00:00:00Z"}]`,
	}
	for _, path := range []string{"/threads/t", "/threads/t/state", "/api/threads/t", "/api/langgraph/threads/t/state"} {
		e.check(t, scenario{method: "GET", path: path, status: 200, want: full})
	}
	e.check(t, scenario{method: "POST", path: "/threads/search", body: `{}`, status: 200, want: full})

	p.start(e.say(t, "t", "clear it"))
	none := map[string]thread.ViewedImage{}
	p.commit(update(thread.StateUpdate{Todos: &[]thread.Todo{}, ViewedImages: &none, UploadedFiles: &[]thread.UploadedFile{}}))
	p.success()
	e.check(t, scenario{
		method: "GET", path: "/threads/t", status: 200, want: full[3:],
		wantNot: []string{`"todos"`, `"uploaded_files"`, `"viewed_images"`},
	})
}

// How an update was made of others is no channel.
func TestUpdatesNameChannelsOnly(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.play(t, "t")
	run := e.sayFor(t, "updates")
	p.start(run)
	none, one := map[string]thread.ViewedImage{}, map[string]thread.ViewedImage{"/a.png": {Size: 1}}
	p.commit(update(thread.StateUpdate{ViewedImages: &none}.Merge(thread.StateUpdate{ViewedImages: &one})))
	p.model("Done.")
	p.success()

	s, err := e.root.JoinStream(e.ctx, "t", run, "-1")
	require.NoError(t, err)
	var seen []string
	for _, f := range all(t, e, s) {
		if f.Event != "updates" {
			continue
		}
		var nodes map[string]map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(f.Data), &nodes))
		for _, channels := range nodes {
			for name := range channels {
				seen = append(seen, name)
			}
		}
	}
	require.Contains(t, seen, "viewed_images")
	require.NotContains(t, seen, "anew")
}
