package threadclient

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// temporalFake is the part of Temporal's client that requests go through. Each
// request is answered by the next of its outcomes, the last one for ever.
type temporalFake struct {
	client.Client
	mu       sync.Mutex
	outcomes []outcome
	health   []error // of probes, the last one for ever
	requests []sent
	probes   int
	last     enumspb.WorkflowExecutionStatus // of the thread's newest workflow, if there is one
}

// outcome is how one request ends: when it is sent, or when its result is asked
// for.
type outcome struct {
	err   error // of the request itself
	get   error // of its result
	value any
	hang  bool // until the context ends, as the SDK does while it repeats
}

// sent is what a test looks at of a request.
type sent struct {
	kind    string
	update  client.UpdateWorkflowOptions
	start   client.StartWorkflowOptions
	args    []any
	startOp client.WithStartWorkflowOperation
}

func fake(outcomes ...outcome) *temporalFake { return &temporalFake{outcomes: outcomes} }

// clientOf makes the client under test.
func clientOf(t *testing.T, f *temporalFake, timeout time.Duration) *Client {
	t.Helper()
	return New(Options{Temporal: f, Settings: func() step.ThreadSettings { return step.ThreadSettings{ContinueEvents: 2000} }, Timeout: timeout})
}

func next[T any](list *[]T) (out T) {
	if len(*list) > 0 {
		out = (*list)[0]
	}
	if len(*list) > 1 {
		*list = (*list)[1:]
	}
	return out
}

// take notes a request and gives its outcome.
func (f *temporalFake) take(ctx context.Context, s sent) outcome {
	f.mu.Lock()
	f.requests = append(f.requests, s)
	o := next(&f.outcomes)
	f.mu.Unlock()
	if o.hang {
		<-ctx.Done()
	}
	return o
}

func (f *temporalFake) CheckHealth(context.Context, *client.CheckHealthRequest) (*client.CheckHealthResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes++
	return &client.CheckHealthResponse{}, next(&f.health)
}

// startOperation remembers what would be started.
type startOperation struct {
	client.WithStartWorkflowOperation
	options client.StartWorkflowOptions
	args    []any
	used    bool
}

func (f *temporalFake) NewWithStartWorkflowOperation(o client.StartWorkflowOptions, workflow any, args ...any) client.WithStartWorkflowOperation {
	return &startOperation{options: o, args: append([]any{workflow}, args...)}
}

func (f *temporalFake) UpdateWithStartWorkflow(ctx context.Context, o client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	op, _ := o.StartWorkflowOperation.(*startOperation)
	if op.used {
		return nil, errors.New("a start operation is good for one request")
	}
	op.used = true
	out := f.take(ctx, sent{kind: "update with start", update: o.UpdateOptions, start: op.options, args: op.args, startOp: op})
	if out.err != nil {
		return nil, out.err
	}
	return &handle{out: out}, nil
}

func (f *temporalFake) UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	out := f.take(ctx, sent{kind: "update", update: o})
	if out.err != nil {
		return nil, out.err
	}
	return &handle{out: out}, nil
}

func (f *temporalFake) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	out := f.take(ctx, sent{kind: "start", start: o, args: append([]any{workflow}, args...)})
	if out.err != nil {
		return nil, out.err
	}
	return &workflowRun{out: out}, nil
}

// workflowRun is a workflow that was started.
type workflowRun struct {
	client.WorkflowRun
	out outcome
}

func (r *workflowRun) Get(_ context.Context, value any) error {
	h := handle{out: r.out}
	return h.Get(context.Background(), value)
}

// DescribeWorkflowExecution finds no workflow, or the last one of a status.
func (f *temporalFake) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED {
		return nil, serviceerror.NewNotFound("workflow not found for ID: thread/t1")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: f.last},
	}, nil
}

func (f *temporalFake) TerminateWorkflow(ctx context.Context, workflowID, _, _ string, _ ...any) error {
	return f.take(ctx, sent{kind: "terminate", args: []any{workflowID}}).err
}

// handle is the result of an update.
type handle struct {
	client.WorkflowUpdateHandle
	out outcome
}

func (h *handle) Get(_ context.Context, value any) error {
	if h.out.get == nil && h.out.value != nil {
		reflect.ValueOf(value).Elem().Set(reflect.ValueOf(h.out.value))
	}
	return h.out.get
}

// operations are all requests, for what holds for every one of them.
func operations(c *Client) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"submit": func(ctx context.Context) error {
			_, err := c.Submit(ctx, "u1", "t1", step.SubmitRun{RunID: "r1"})
			return err
		},
		"cancel": func(ctx context.Context) error {
			_, err := c.Cancel(ctx, "u1", "t1", "cancel-1", step.CancelRun{RunID: "r1", Action: thread.CancelInterrupt})
			return err
		},
		"answer": func(ctx context.Context) error {
			_, err := c.Answer(ctx, "t1", "answer-1", step.Answer{Text: "blue"})
			return err
		},
		"wake": func(ctx context.Context) error { return c.Wake(ctx, "u1", "t1") },
		"stop": func(ctx context.Context) error { return c.Stop(ctx, "t1") },
		"convert": func(ctx context.Context) error {
			_, err := c.Convert(ctx, step.Conversion{Thread: "t1", Name: "a.pdf"})
			return err
		},
	}
}
