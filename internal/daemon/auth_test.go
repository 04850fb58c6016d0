package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/config"
	"deerflow/internal/store"
)

// loaded is a configuration with a text and variables.
func loaded(t *testing.T, text string, env map[string]string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	cfg, _, err := config.Load(config.Options{Path: path, Getenv: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}})
	require.NoError(t, err)
	return cfg
}

func TestWhoIsAskedForAKey(t *testing.T) {
	t.Parallel()
	off := map[string]string{"DEER_FLOW_AUTH_DISABLED": "1"}
	inProd := map[string]string{"DEER_FLOW_AUTH_DISABLED": "1", "DEER_FLOW_ENV": "Production"}
	for _, tc := range []struct {
		name, enabled, listen string
		env                   map[string]string
		required              bool
		notice, refusal       string
	}{
		{name: "loopback", enabled: "auto", listen: "127.0.0.1:2026"},
		{name: "loopback by name", enabled: "auto", listen: "localhost:0"},
		{name: "loopback of IPv6", enabled: "auto", listen: "[::1]:0"},
		{name: "everywhere", enabled: "auto", listen: "0.0.0.0:2026", required: true},
		{name: "everywhere, in short", enabled: "auto", listen: ":2026", required: true},
		{name: "everywhere, IPv6", enabled: "auto", listen: "[::]:2026", required: true},
		{name: "an address", enabled: "auto", listen: "192.168.1.5:2026", required: true},
		{name: "a name", enabled: "auto", listen: "box.lan:2026", required: true},
		{name: "a name like loopback", enabled: "auto", listen: "localhost.evil.example:2026", required: true},
		{name: "always", enabled: "true", listen: "127.0.0.1:2026", required: true},
		{name: "never on loopback", enabled: "false", listen: "127.0.0.1:2026"},
		{name: "never elsewhere", enabled: "false", listen: "0.0.0.0:2026", refusal: "auth.enabled: false"},
		{name: "never elsewhere, whatever the variable says", enabled: "false", listen: "0.0.0.0:2026", env: off, refusal: "auth.enabled: false"},
		{name: "variable", enabled: "true", listen: "127.0.0.1:2026", env: off},
		{name: "variable that says no", enabled: "true", listen: "127.0.0.1:2026", env: map[string]string{"DEER_FLOW_AUTH_DISABLED": "0"}, required: true},
		{name: "variable elsewhere", enabled: "auto", listen: "0.0.0.0:2026", env: off, required: true, notice: "loopback addresses only"},
		{name: "variable in production", enabled: "true", listen: "127.0.0.1:2026", env: inProd, required: true, notice: "is ignored in a production"},
		{name: "variable in production, auto", enabled: "auto", listen: "127.0.0.1:2026", env: inProd, notice: "is ignored in a production"},
		{name: "no address", enabled: "auto", listen: "2026", refusal: "want host:port"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := authFor(loaded(t, "auth: {enabled: "+tc.enabled+"}\n", tc.env), tc.listen)
			if tc.refusal != "" {
				var mistake *UsageError
				require.ErrorAs(t, err, &mistake)
				require.ErrorContains(t, err, tc.refusal)
				require.NotContains(t, err.Error(), "\n")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.required, got.required)
			require.Contains(t, got.notice, tc.notice)
			require.Equal(t, tc.notice == "", got.notice == "")
		})
	}
}

func TestTheFirstKeyIsAskedFor(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	st, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "deerflow.db")})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	d := &Daemon{Config: loaded(t, "auth: {enabled: true}\n", nil), dataDir: dir}
	warnings := func(ctx context.Context) string {
		d.Warnings = nil
		on, err := d.asksForKeys(ctx, Options{Listen: "0.0.0.0:0"}, st)
		require.NoError(t, err)
		require.True(t, on)
		var all []string
		for _, w := range d.Warnings {
			all = append(all, w.String())
		}
		return strings.Join(all, "\n")
	}
	require.Contains(t, warnings(ctx), "make the first one with: deerflow keys create --admin --data-dir \""+dir+`"`)
	_, _, err = st.CreateKey(ctx, store.NewKey{User: "ann", Role: store.RoleUser, ExpiresAt: time.Now().Add(-time.Second)})
	require.NoError(t, err)
	require.NotEmpty(t, warnings(ctx), "an expired key is none")
	key, _, err := st.CreateKey(ctx, store.NewKey{User: "ann", Role: store.RoleUser})
	require.NoError(t, err)
	require.Empty(t, warnings(ctx))
	_, err = st.RevokeKey(ctx, key.ID)
	require.NoError(t, err)
	require.NotEmpty(t, warnings(ctx))
}

func TestOwnHosts(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"box.lan", "a"}, ownHosts([]string{"a"}, "box.lan:2026"))
	for _, listen := range []string{"0.0.0.0:1", ":1", "[::1]:1", "nonsense"} {
		require.Equal(t, []string{"a"}, ownHosts([]string{"a"}, listen))
	}
}
