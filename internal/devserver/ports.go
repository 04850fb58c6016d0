package devserver

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"deerflow/internal/bind"
)

// loopback is the only address that the server and its UI are bound to.
const loopback = "127.0.0.1"

func hostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// listenLoopback opens a requested port (0 for a free one) for what, or returns a [*PortError].
func listenLoopback(ctx context.Context, port int, what string) (net.Listener, error) {
	l, err := bind.TCP(ctx, hostPort(port))
	if err != nil {
		return nil, &PortError{Port: port, What: what, Err: err}
	}
	return l, nil
}

// checkPort returns a [*PortError] if port cannot be listened on now.
func checkPort(ctx context.Context, port int, what string) error {
	l, err := listenLoopback(ctx, port, what)
	if err != nil {
		return err
	}
	return closeListener(l)
}

// freePorts returns n different ports that were free a moment ago. The server opens its listeners itself, so somebody
// else may still be faster; the caller tries again then.
func freePorts(ctx context.Context, n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", hostPort(0))
		if err != nil {
			return nil, fmt.Errorf("finding a free port on %s: %w", loopback, err)
		}
		// Kept open until all are found, so that they are different.
		defer closeListener(l) //nolint:errcheck // it only held the port
		ports = append(ports, portOf(l))
	}
	return ports, nil
}

// portOf is for listeners of listenLoopback, which are all of TCP.
func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func closeListener(l net.Listener) error {
	if err := l.Close(); err != nil {
		return fmt.Errorf("closing the listener on %s: %w", l.Addr(), err)
	}
	return nil
}
