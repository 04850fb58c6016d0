package remote

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/sandbox"
	"deerflow/internal/testkit"
)

// provider makes a provider over a fixed machine, or a provisioner.
func provider(t *testing.T, o Options, root string) *Provider {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	o.Poll = 10 * time.Millisecond
	if o.Ready == 0 {
		o.Ready = 20 * time.Second
	}
	p, err := New(o, sandbox.LocalOptions{Root: root, BashTimeout: time.Minute, Logger: o.Logger})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func acquire(t *testing.T, p sandbox.Provider, thread string) sandbox.Sandbox {
	t.Helper()
	b, err := p.Acquire(t.Context(), "u", thread)
	require.NoError(t, err)
	return b
}

func run(t *testing.T, b sandbox.Sandbox, line string) sandbox.ExecResult {
	t.Helper()
	r, err := b.Exec(t.Context(), sandbox.Command{Line: line})
	require.NoError(t, err)
	return r
}

func write(t *testing.T, b sandbox.Sandbox, name, text string) {
	t.Helper()
	_, err := b.WriteFile(t.Context(), name, strings.NewReader(text), sandbox.WriteOptions{})
	require.NoError(t, err)
}

func read(t *testing.T, b sandbox.Sandbox, name string) string {
	t.Helper()
	f, _, err := b.Open(t.Context(), name)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	return string(data)
}

func through(c *testkit.Cluster) Options {
	return Options{ProvisionerURL: c.URL(), ProvisionerKey: testkit.ClusterKey}
}

func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }

func asRefused(err error, to **sandbox.CommandError) bool { return errors.As(err, to) }
