package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStickyCache(t *testing.T) {
	t.Parallel()
	c, _ := load(t, demoModels)
	require.Equal(t, 200, c.Worker.StickyCache)
	c, _ = load(t, "worker: {sticky_cache: 0}\n"+demoModels)
	require.Zero(t, c.Worker.StickyCache, "none, not the default")
	require.Contains(t, fails(t, "worker: {sticky_cache: -1}\n"), "want at least 0")
	require.Contains(t, fails(t, "worker: {sticky_caches: 1}\n"), "sticky_cache")
}
