package devserver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

const (
	keyword = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	integer = enumspb.INDEXED_VALUE_TYPE_INT
)

func TestSearchAttributesWorkAtOnce(t *testing.T) {
	t.Parallel()
	requireSearchable(t, dial(t, shared), shared.Namespace(), "TestStatus")
}

// The namespace exists already on a second start, so that making it does not bring the attributes along.
func TestSearchAttributesAreAddedLater(t *testing.T) {
	t.Parallel()
	o := Options{DataDir: t.TempDir(), UIPort: NoUI, Namespace: "research"}
	stopFully(t, startServer(t, o))

	o.SearchAttributes = testAttributes()
	second := startServer(t, o)
	requireSearchable(t, dial(t, second), "research", "TestStatus")
	stopFully(t, second)

	o.SearchAttributes = map[string]enumspb.IndexedValueType{"TestStatus": integer}
	o.Logger = quietLogger()
	_, err := Start(t.Context(), o)
	require.ErrorContains(t, err, "TestStatus is a Keyword already and cannot become a Int")
}

// requireSearchable starts a workflow with the attribute and finds it by it.
func requireSearchable(tb testing.TB, c client.Client, namespace, attribute string) {
	tb.Helper()
	_, err := c.ExecuteWorkflow(tb.Context(), client.StartWorkflowOptions{
		ID: "searched", TaskQueue: "none",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(attribute).ValueSet("waiting")),
	}, "None")
	require.NoError(tb, err)
	require.Eventually(tb, func() bool {
		found, err := c.ListWorkflow(tb.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: namespace, Query: attribute + " = 'waiting'",
		})
		return err == nil && len(found.GetExecutions()) == 1
	}, 5*time.Second, 20*time.Millisecond)
}

func TestMissingAttributes(t *testing.T) {
	t.Parallel()
	type types = map[string]enumspb.IndexedValueType
	tests := map[string]struct {
		want, have, missing types
		err                 string
	}{
		"none wanted": {nil, types{"A": keyword}, types{}, ""},
		"all there":   {types{"A": keyword}, types{"A": keyword, "B": integer}, types{}, ""},
		"one missing": {types{"A": keyword, "B": integer}, types{"A": keyword}, types{"B": integer}, ""},
		"other type":  {types{"A": keyword}, types{"A": integer}, types{}, "A is a Int already"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := missingAttributes(test.want, test.have)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.missing, got)
		})
	}
}
