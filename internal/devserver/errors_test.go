package devserver

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPortErrorNamesTheFlag(t *testing.T) {
	t.Parallel()
	for what, flag := range map[string]string{frontendName: "--temporal-port (0", webUIName: "--temporal-ui-port (0"} {
		require.ErrorContains(t, &PortError{Port: 1, What: what, Err: syscall.EADDRINUSE}, flag)
		require.ErrorContains(t, &PortError{Port: 1, What: what, Err: syscall.EACCES}, flag)
	}
}
