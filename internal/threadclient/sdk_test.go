package threadclient

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// greeter is a Temporal server that can say hello, no more.
type greeter struct {
	workflowservice.UnimplementedWorkflowServiceServer
}

func (greeter) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

// The SDK repeats a request to a server that went away for as long as the
// context lives, and then speaks of a timeout. Callers have to hear at once, and
// the right thing.
func TestAServerThatWentAway(t *testing.T) {
	t.Parallel()
	var listen net.ListenConfig
	ln, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, greeter{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	temporal, err := client.DialContext(t.Context(), client.Options{HostPort: ln.Addr().String(), Logger: silent{}})
	require.NoError(t, err)
	defer temporal.Close()
	server.Stop()
	require.NoError(t, <-served)

	c := New(Options{Temporal: temporal, Timeout: time.Minute})
	for name, call := range operations(c) {
		start := time.Now()
		require.ErrorIs(t, call(t.Context()), ErrUnavailable, name)
		require.Less(t, time.Since(start), 5*time.Second, name)
	}
}

// silent is a logger that says nothing.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
