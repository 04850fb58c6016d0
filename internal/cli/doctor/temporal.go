package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	tlog "go.temporal.io/sdk/log"

	"deerflow/internal/cli"
	"deerflow/internal/step"
	"deerflow/workflows"
)

// environment gives the TEMPORAL_ variables.
type environment struct{ e *exam }

func (v environment) Environ() []string { return os.Environ() }

func (v environment) LookupEnv(name string) (string, bool) {
	value := v.e.getenv(name)
	return value, value != ""
}

// temporalOptions says where Temporal is: where the environment says, else where the running server has its own. ok is
// false when neither is known.
func (e *exam) temporalOptions() (o client.Options, ok bool, err error) {
	switch {
	case e.getenv("TEMPORAL_ADDRESS") != "" || e.getenv("TEMPORAL_PROFILE") != "":
		o, err = envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: environment{e}})
		if err != nil {
			return o, true, fmt.Errorf("the TEMPORAL_ variables: %w", err)
		}
	case e.announced != nil && e.announced.Temporal != "":
		o.HostPort = e.announced.Temporal
	default:
		return o, false, nil
	}
	if o.HostPort == "" {
		o.HostPort = client.DefaultHostPort
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	o.Logger = tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return o, true, nil
}

// temporal looks at Temporal as a worker would.
func (e *exam) temporal(ctx context.Context) []Check {
	const name = "temporal"
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	o, known, err := e.temporalOptions()
	if err != nil {
		return []Check{{name, Fail, err.Error(), "see docs/operations.md, or leave the TEMPORAL_ variables out for the built-in one"}}
	}
	if !known {
		return []Check{{Name: name, Status: Skip, Detail: "no server is running, and TEMPORAL_ADDRESS is not set"}}
	}
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return []Check{{name, Fail, fmt.Sprintf("%s: %v", o.HostPort, err), "start it, or set TEMPORAL_ADDRESS and what it asks for"}}
	}
	defer c.Close()
	return []Check{
		{Name: name, Status: OK, Detail: o.HostPort + serverVersion(ctx, c)},
		namespaceCheck(ctx, c, o.Namespace), attributesCheck(ctx, c, o.Namespace), pollersCheck(ctx, c, cli.ProgramName(e.o.Program)),
	}
}

func serverVersion(ctx context.Context, c client.Client) string {
	info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil || info.GetServerVersion() == "" {
		return ""
	}
	return ", version " + info.GetServerVersion()
}

func namespaceCheck(ctx context.Context, c client.Client, namespace string) Check {
	const name = "namespace"
	ns, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return Check{name, Fail, fmt.Sprintf("%s: %v", namespace, err), "make it (temporal operator namespace create), or set TEMPORAL_NAMESPACE"}
	}
	kept := ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	check := Check{Name: name, Status: OK, Detail: fmt.Sprintf("%s keeps closed workflows for %s", namespace, days(kept))}
	if kept > 0 && kept < 3*24*time.Hour {
		check.Status, check.Fix = Warn, "keep them longer: what a thread did can be read in the Web UI only for that time"
	}
	return check
}

func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}

func attributesCheck(ctx context.Context, c client.Client, namespace string) Check {
	const name = "search attributes"
	list, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return Check{name, Warn, fmt.Sprintf("they cannot be listed: %v", err), "a worker adds them if it may; threads do without them"}
	}
	var missing, wrong []string
	keys := workflows.SearchAttributes()
	for _, key := range keys {
		switch kind, ok := list.GetCustomAttributes()[key.GetName()]; {
		case !ok:
			missing = append(missing, key.GetName())
		case kind != key.GetValueType():
			wrong = append(wrong, fmt.Sprintf("%s is a %s and not a %s", key.GetName(), kind, key.GetValueType()))
		}
	}
	if len(wrong) > 0 {
		return Check{name, Fail, strings.Join(wrong, "; "), "remove them and start a worker, or use another namespace"}
	}
	if len(missing) > 0 {
		return Check{name, Warn, "missing: " + strings.Join(missing, ", "), "start a worker, which adds them if it may; or add them (temporal operator search-attribute create)"}
	}
	return Check{Name: name, Status: OK, Detail: fmt.Sprintf("all %d are there", len(keys))}
}

// pollerAge is how old a poll may be: Temporal remembers those of workers that are gone for five minutes, and a worker
// that lives polls at least once a minute.
const pollerAge = 90 * time.Second

func pollersCheck(ctx context.Context, c client.Client, program string) Check {
	const name = "workers"
	queue, err := c.DescribeTaskQueue(ctx, step.TaskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return Check{name, Fail, fmt.Sprintf("task queue %s: %v", step.TaskQueue, err), "see whether the namespace may be used"}
	}
	n := 0
	for _, p := range queue.GetPollers() {
		if time.Since(p.GetLastAccessTime().AsTime()) < pollerAge {
			n++
		}
	}
	if n == 0 {
		return Check{name, Fail, "nobody asks for work on the task queue " + step.TaskQueue, fmt.Sprintf("start '%s worker', or '%[1]s dev'", program)}
	}
	return Check{Name: name, Status: OK, Detail: fmt.Sprintf("%d on the task queue %s", n, step.TaskQueue)}
}
