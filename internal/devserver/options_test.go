package devserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOptionsDefaults(t *testing.T) {
	t.Parallel()
	o, err := Options{DataDir: "."}.withDefaults()
	require.NoError(t, err)
	require.NotEqual(t, ".", o.DataDir)
	require.Equal(t, "default", o.Namespace)
	require.Equal(t, SyncNormal, o.Synchronous)
	require.Equal(t, 720*time.Hour, o.Retention)
	require.NotNil(t, o.Logger)
}

func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]Options{
		"DataDir is empty":       {},
		"Port is -1":             {DataDir: "d", Port: -1},
		"Port is 65536":          {DataDir: "d", Port: 65536},
		"UIPort is -2":           {DataDir: "d", UIPort: -2},
		"UIPort is 70000":        {DataDir: "d", UIPort: 70000},
		"are both 7233":          {DataDir: "d", Port: 7233, UIPort: 7233},
		`Synchronous is "OFF"`:   {DataDir: "d", Synchronous: "OFF"},
		"Retention is 59m0s":     {DataDir: "d", Retention: 59 * time.Minute},
		"Retention is -1h0m0s":   {DataDir: "d", Retention: -time.Hour},
		`UIPublicPath is "temp"`: {DataDir: "d", UIPublicPath: "temp"},
		`UIPublicPath is "/x/"`:  {DataDir: "d", UIPublicPath: "/x/"},
	}
	for want, o := range tests {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := Start(t.Context(), o)
			require.ErrorContains(t, err, want)
		})
	}
}
