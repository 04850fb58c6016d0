package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/config"
)

func configured(t *testing.T, vars map[string]string) *Daemon {
	t.Helper()
	cfg, _, err := config.Load(config.Options{Dir: t.TempDir(), Getenv: func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}})
	require.NoError(t, err)
	return &Daemon{Config: cfg, log: slog.New(slog.DiscardHandler), say: func(string) {}}
}

func TestOutsideTemporalIsThatOfTheEnvironment(t *testing.T) {
	t.Parallel()
	o, err := configured(t, nil).outsideTemporal()
	require.NoError(t, err)
	require.Equal(t, "localhost:7233", o.HostPort)
	require.Equal(t, "default", o.Namespace)

	o, err = configured(t, map[string]string{
		"TEMPORAL_ADDRESS": "ns.acct.tmprl.cloud:7233", "TEMPORAL_NAMESPACE": "ns.acct", "TEMPORAL_API_KEY": "secret",
	}).outsideTemporal()
	require.NoError(t, err)
	require.Equal(t, "ns.acct.tmprl.cloud:7233", o.HostPort)
	require.Equal(t, "ns.acct", o.Namespace)
	require.NotNil(t, o.Credentials)
	require.NotNil(t, o.ConnectionOptions.TLS, "a key goes over TLS only")
	require.Nil(t, o.ConnectionOptions.GrpcCompression, "beyond loopback the SDK's default holds")

	_, err = configured(t, map[string]string{"TEMPORAL_TLS_CLIENT_CERT_PATH": filepath.Join(t.TempDir(), "none.pem")}).outsideTemporal()
	var mistake *UsageError
	require.ErrorAs(t, err, &mistake)
	require.ErrorContains(t, err, "TEMPORAL_")
}

func TestVariablesBesideTheConfigCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("TEMPORAL_ADDRESS=there:1\nDEERFLOW_DATABASE_URL=postgres://h/d\n"), 0o600))
	cfg, _, err := config.Load(config.Options{Dir: dir, Getenv: func(string) (string, bool) { return "", false }})
	require.NoError(t, err)
	d := &Daemon{Config: cfg, log: slog.New(slog.DiscardHandler)}
	o, err := d.outsideTemporal()
	require.NoError(t, err)
	require.Equal(t, "there:1", o.HostPort)
	require.Equal(t, "postgres://h/d", d.databaseURL())
}

func TestDatabaseURLMustBeOne(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"mysql://h/d", "deerflow.db", "postgres://[h"} {
		_, err := configured(t, map[string]string{databaseVariable: url}).openStore(t.Context(), nil)
		var mistake *UsageError
		require.ErrorAs(t, err, &mistake, url)
	}
}

func TestAwaitSaysWhatItWaitsForOnce(t *testing.T) {
	t.Parallel()
	var said []string
	d := &Daemon{say: func(s string) { said = append(said, s) }}
	tries := 0
	err := d.await(t.Context(), "Godot", time.Minute, func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("not\n\tyet")
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"connecting to Godot", "waiting for Godot: not yet"}, said)

	tries = 0
	err = d.await(t.Context(), "Godot", time.Minute, func(context.Context) error {
		tries++
		return usage("wrong")
	})
	require.EqualError(t, err, "wrong")
	require.Equal(t, 1, tries, "a mistake does not go away")

	ctx, cancel := context.WithCancel(t.Context())
	err = d.await(ctx, "Godot", time.Minute, func(context.Context) error { cancel(); return errors.New("not yet") })
	require.ErrorIs(t, err, context.Canceled)
}
