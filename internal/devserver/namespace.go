package devserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const pollInterval = 5 * time.Millisecond

// namespaceSetup brings a namespace to what the options ask for, over the frontend of a server that may have come up
// a moment ago.
type namespaceSetup struct {
	name      string
	workflows workflowservice.WorkflowServiceClient
	operator  operatorservice.OperatorServiceClient
}

// dialFrontend connects to the frontend at address when the first call is made. It ignores the proxy of the
// environment.
func dialFrontend(address string) (*grpc.ClientConn, error) {
	// The limit is the server's own for a page of history.
	const maxMessage = 64 << 20
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return nil, fmt.Errorf("preparing a connection to the Temporal frontend at %s: %w", address, err)
	}
	return conn, nil
}

// setUpNamespace waits until the frontend at address answers for the namespace, then sets its retention and adds the
// search attributes that it lacks.
func setUpNamespace(ctx context.Context, address string, o Options) (err error) {
	conn, err := dialFrontend(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	s := namespaceSetup{
		name:      o.Namespace,
		workflows: workflowservice.NewWorkflowServiceClient(conn),
		operator:  operatorservice.NewOperatorServiceClient(conn),
	}
	ns, err := s.awaitNamespace(ctx)
	if err != nil {
		return err
	}
	if err := s.setRetention(ctx, ns.GetConfig(), o.Retention); err != nil {
		return err
	}
	return s.addSearchAttributes(ctx, o.SearchAttributes)
}

func (s namespaceSetup) awaitNamespace(ctx context.Context) (*workflowservice.DescribeNamespaceResponse, error) {
	for {
		ns, err := s.workflows.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.name},
			grpc.WaitForReady(true))
		if err == nil {
			return ns, nil
		}
		if status.Code(err) != codes.Unavailable {
			return nil, fmt.Errorf("waiting for the Temporal frontend to serve the namespace %q: %w", s.name, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the Temporal frontend to serve the namespace %q: %w (last answer: %w)",
				s.name, ctx.Err(), err)
		case <-time.After(pollInterval):
		}
	}
}

func (s namespaceSetup) setRetention(ctx context.Context, current *namespacepb.NamespaceConfig, want time.Duration) error {
	if current.GetWorkflowExecutionRetentionTtl().AsDuration() == want {
		return nil
	}
	_, err := s.workflows.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: s.name,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(want)},
	})
	if err != nil {
		return fmt.Errorf("setting the retention of the Temporal namespace %q to %s: %w", s.name, want, err)
	}
	return nil
}

func (s namespaceSetup) addSearchAttributes(ctx context.Context, want map[string]enumspb.IndexedValueType) error {
	if len(want) == 0 {
		return nil
	}
	// The server warns of each attribute that is there already, so it is asked only for the others.
	have, err := s.operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: s.name})
	if err != nil {
		return fmt.Errorf("listing the search attributes of the Temporal namespace %q: %w", s.name, err)
	}
	missing, err := missingAttributes(want, have.GetCustomAttributes())
	if err != nil {
		return fmt.Errorf("adding search attributes to the Temporal namespace %q: %w", s.name, err)
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = s.operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: s.name, SearchAttributes: missing,
	})
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return fmt.Errorf("adding search attributes to the Temporal namespace %q: %w", s.name, err)
	}
	return nil
}

// missingAttributes returns those of want that are not in have. One that is there with another type is an error: the
// server cannot change it.
func missingAttributes(want, have map[string]enumspb.IndexedValueType) (map[string]enumspb.IndexedValueType, error) {
	missing := make(map[string]enumspb.IndexedValueType)
	var errs []error
	for name, t := range want {
		old, ok := have[name]
		switch {
		case !ok:
			missing[name] = t
		case old != t:
			errs = append(errs, fmt.Errorf("%s is a %s already and cannot become a %s: use another name", name, old, t))
		}
	}
	return missing, errors.Join(errs...)
}
