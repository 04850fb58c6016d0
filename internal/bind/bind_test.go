package bind

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func taken(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

func TestAnAddressThatBecomesFreeIsTaken(t *testing.T) {
	t.Parallel()
	held := taken(t)
	time.AfterFunc(5*pause, func() { _ = held.Close() })
	ln, err := TCP(t.Context(), held.Addr().String())
	require.NoError(t, err)
	require.NoError(t, ln.Close())
}

func TestAnAddressThatStaysInUseIsRefused(t *testing.T) {
	t.Parallel()
	held := taken(t)
	begin := time.Now()
	_, err := TCP(t.Context(), held.Addr().String())
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.GreaterOrEqual(t, time.Since(begin), patience)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = TCP(ctx, held.Addr().String())
	require.Error(t, err)
}

func TestOtherErrorsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	_, err := TCP(t.Context(), "127.0.0.1:70000")
	require.Error(t, err)
	require.Less(t, time.Since(begin), patience)
}
