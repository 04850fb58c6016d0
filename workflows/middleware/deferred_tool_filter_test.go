package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

func TestHiddenToolsAreNotOfferedAndNotRun(t *testing.T) {
	t.Parallel()
	run := runOf(agent.Summary{Deferred: &agent.DeferredRule{CatalogHash: "h1", Names: []string{"mail", "calendar"}}})
	require.Equal(t, []string{"mail", "calendar"}, edited(t, &DeferredToolFilter{}, run).Hidden)
	reply, _ := around(t, &DeferredToolFilter{}, run, callOf("mail"))
	require.True(t, reply.Error)
	require.Contains(t, reply.Text, "mail is deferred and not promoted. Call tool_search first")
	reply, _ = around(t, &DeferredToolFilter{}, run, callOf("bash"))
	require.Nil(t, reply)

	run.State.Promoted = &thread.Promoted{CatalogHash: "h1", Names: []string{"mail"}}
	require.Equal(t, []string{"calendar"}, edited(t, &DeferredToolFilter{}, run).Hidden)
	reply, _ = around(t, &DeferredToolFilter{}, run, callOf("mail"))
	require.Nil(t, reply, "10.8-5 promoted")

	run.Plan.Deferred.CatalogHash = "h2"
	reply, _ = around(t, &DeferredToolFilter{}, run, callOf("mail"))
	require.NotNil(t, reply, "10.8-3 another catalog")

	run.Plan.Deferred = nil
	require.Empty(t, edited(t, &DeferredToolFilter{}, run).Hidden)
	reply, _ = around(t, &DeferredToolFilter{}, run, callOf("mail"))
	require.Nil(t, reply)
}
