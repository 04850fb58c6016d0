package worker

import (
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"deerflow/activities"
	"deerflow/internal/step"
	"deerflow/workflows"
)

// Options configure a worker process.
type Options struct {
	Temporal   client.Client
	Activities *activities.Activities
	// StopTimeout is how long running activities may go on when the worker is
	// told to stop; they are run again elsewhere after it.
	StopTimeout time.Duration
	// StickyTimeout is how long a workflow task waits for the worker that has
	// the workflow in memory: what a killed process costs, at least.
	StickyTimeout time.Duration
	// OnFatal is told when the worker has given up for good; may be nil.
	OnFatal func(error)
}

// Measured on two cores: more pollers do not help, fewer cost a third of the
// steps per second.
const pollers = 16

// heartbeatThrottle is the fallback for a cancel that the server could not push.
const heartbeatThrottle = time.Second

// KeepInMemory bounds the workflows that stay in memory between two of their
// tasks, for the whole process; with 0 none does. The first worker of a process
// settles it for all, and an embedded Temporal server has workers of its own: it
// has to be called before either starts.
func KeepInMemory(workflows int) { worker.SetStickyWorkflowCacheSize(workflows) }

// New makes a worker that is not started yet.
func New(o Options) worker.Worker {
	options := worker.Options{
		MaxConcurrentWorkflowTaskPollers: pollers,
		MaxConcurrentActivityTaskPollers: pollers,
		MaxHeartbeatThrottleInterval:     heartbeatThrottle,
		DefaultHeartbeatThrottleInterval: heartbeatThrottle,
		WorkerStopTimeout:                o.StopTimeout,
		StickyScheduleToStartTimeout:     o.StickyTimeout,
		// A workflow that panics, or whose history does not replay, would repeat
		// its task for ever. It fails instead, visibly, and the reconciler starts
		// the thread again from its checkpoint (M09).
		WorkflowPanicPolicy: worker.FailWorkflow,
		OnFatalError:        o.OnFatal,
	}
	atFailpoints(&options)
	w := worker.New(o.Temporal, step.TaskQueue, options)
	Register(w)
	o.Activities.Register(w)
	return w
}

// Register makes the workflows known under their fixed names.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(workflows.Thread, workflow.RegisterOptions{Name: step.ThreadWorkflow})
	r.RegisterWorkflowWithOptions(workflows.Conversion, workflow.RegisterOptions{Name: step.ConversionWorkflow})
}
