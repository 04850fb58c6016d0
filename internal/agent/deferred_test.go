package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestDeferredToolsAreHiddenUntilPromoted(t *testing.T) {
	t.Parallel()
	rule := &DeferredRule{CatalogHash: "h1", Names: []string{"a", "b"}}
	for _, tc := range []struct {
		name     string
		promoted *thread.Promoted
		want     []string
	}{
		{"nothing promoted", nil, []string{"a", "b"}},
		{"promoted", &thread.Promoted{CatalogHash: "h1", Names: []string{"a"}}, []string{"b"}},
		{"all promoted", &thread.Promoted{CatalogHash: "h1", Names: []string{"b", "a"}}, nil},
		{"10.8-3 of another catalog", &thread.Promoted{CatalogHash: "h0", Names: []string{"a"}}, []string{"a", "b"}},
		{"10.8-4 an empty promotion", &thread.Promoted{CatalogHash: "h1"}, []string{"a", "b"}},
		{"a name that is not deferred", &thread.Promoted{CatalogHash: "h1", Names: []string{"c"}}, []string{"a", "b"}},
	} {
		require.Equal(t, tc.want, rule.Hidden(tc.promoted), tc.name)
	}
}
