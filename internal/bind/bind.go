// Package bind opens listening sockets.
package bind

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// An address in use is asked for again, for this long. A process that was killed
// while it forked a command has left its sockets to the child, until that becomes
// the command: who takes its place finds them open for a moment.
const (
	patience = time.Second
	pause    = 20 * time.Millisecond
)

// TCP listens on an address, host:port. One that stays in use is the error of
// [net.ListenConfig.Listen].
func TCP(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	for end := time.Now().Add(patience); ; {
		ln, err := config.Listen(ctx, "tcp", address)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return ln, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}
