package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// attributesTimeout bounds all that is done about search attributes; threads do
// without them rather than wait.
const attributesTimeout = 10 * time.Second

// missingAttributes lists the search attributes that a namespace lacks.
func missingAttributes(ctx context.Context, c client.Client, namespace string) (map[string]enumspb.IndexedValueType, error) {
	have := map[string]enumspb.IndexedValueType{}
	list, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err == nil {
		have = list.GetCustomAttributes()
	} else {
		// Who may not operate the server may still see the namespace, which tells
		// the names but not the types.
		ns, nsErr := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
		if nsErr != nil {
			return nil, fmt.Errorf("list the search attributes of namespace %s: %w", namespace, errors.Join(err, nsErr))
		}
		for _, name := range ns.GetConfig().GetCustomSearchAttributeAliases() {
			have[name] = searchAttributes()[name]
		}
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, kind := range searchAttributes() {
		switch old, ok := have[name]; {
		case !ok:
			missing[name] = kind
		case old != kind:
			return nil, fmt.Errorf("search attribute %s of namespace %s is a %s and not a %s", name, namespace, old, kind)
		}
	}
	return missing, nil
}

// addAttributes adds the search attributes that the namespace lacks, if this
// process may, and reports whether all are there.
func (d *Daemon) addAttributes(ctx context.Context, c client.Client, namespace string) bool {
	ctx, cancel := context.WithTimeout(ctx, attributesTimeout)
	defer cancel()
	missing, err := missingAttributes(ctx, c, namespace)
	if err == nil && len(missing) > 0 {
		_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace, SearchAttributes: missing,
		})
		var quicker *serviceerror.AlreadyExists // another worker
		if errors.As(err, &quicker) {
			err = nil
		}
	}
	if err == nil {
		return true
	}
	names := make([]string, 0, len(missing))
	for name := range missing {
		names = append(names, name)
	}
	slices.Sort(names)
	d.say(fmt.Sprintf("threads have no search attributes: they could not be added to namespace %s (%v); add %v as docs/operations.md says, then start again",
		namespace, err, names))
	return false
}

// attributesEvery is how often a namespace without the attributes is asked
// again.
const attributesEvery = 30 * time.Second

// attributeWatch knows whether a namespace has the search attributes. Once it
// has them, it keeps them.
type attributeWatch struct {
	temporal  client.Client
	namespace string

	mu    sync.Mutex
	there bool
	next  time.Time
}

func (w *attributeWatch) present(ctx context.Context) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.there || time.Now().Before(w.next) {
		return w.there
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	missing, err := missingAttributes(ctx, w.temporal, w.namespace)
	w.there = err == nil && len(missing) == 0
	w.next = time.Now().Add(attributesEvery)
	return w.there
}
