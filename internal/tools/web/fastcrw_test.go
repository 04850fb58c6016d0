package web

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFastCRWSearch(t *testing.T) {
	t.Parallel()
	conform(t, crawlSearch("fastcrw"))
}

func TestFastCRWFetch(t *testing.T) {
	t.Parallel()
	conform(t, crawlFetch("fastcrw"))
}

// The address is that of the entry, else of the variable, else the public one.
func TestFastCRWAddress(t *testing.T) {
	t.Parallel()
	o := Options{Getenv: func(name string) string { return map[string]string{"CRW_API_URL": " http://crw.internal:3000/ "}[name] }}
	f := newFastCRW(o)
	require.Equal(t, "http://crw.internal:3000", f.BaseURL(f.address))
	o.Values = map[string]any{"base_url": "http://other.internal"}
	f = newFastCRW(o)
	require.Equal(t, "http://other.internal", f.BaseURL(f.address))
	f = newFastCRW(Options{})
	require.Equal(t, "https://fastcrw.com/api", f.BaseURL(f.address))
}
