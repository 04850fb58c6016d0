package testkit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports that the system does not give to anybody who asks for a free one. A
// process that is killed and started again at its address would else find it
// taken, now and then, by a connection of another test.
const (
	lowestPort  = 12000
	highestPort = 32000
)

// quietAddress is a free loopback address that stays free while a process is
// started again.
func quietAddress(ctx context.Context) (string, error) {
	var last error
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", lowestPort+rand.IntN(highestPort-lowestPort))
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			last = err
			continue
		}
		return addr, ln.Close()
	}
	return "", fmt.Errorf("find a free port between %d and %d: %w", lowestPort, highestPort, last)
}
