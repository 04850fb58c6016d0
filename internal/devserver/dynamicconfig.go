package devserver

import (
	"maps"
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// dynamicConfig returns the settings that make a single embedded node fast and quiet. With the stock values an
// activity takes 50 ms, a child workflow 200 ms and a short timer one second, whatever the disk is. Integers must be
// int: any other integer type is ignored by the server. The entries of instead take the place of those here.
func dynamicConfig(instead map[string]any) dynamicconfig.StaticClient {
	settings := map[string]any{
		// Queue readers wait for a slot of this rate, per shard, before they look at new tasks. There is one shard, so
		// the stock 20 per second puts every step of every workflow on a 50 ms grid.
		"history.transferProcessorMaxPollRPS":   2000,
		"history.timerProcessorMaxPollRPS":      2000,
		"history.visibilityProcessorMaxPollRPS": 500,
		// Timers are rounded up to this; stock is one second.
		"history.timerProcessorMaxTimeShift": time.Millisecond,

		// How long the workflow task of a killed worker is waited for; stock is 10 s.
		"history.defaultWorkflowTaskTimeout": 2 * time.Second,
		// Stock 1 s would delay the continue-as-new of a young workflow.
		"history.workflowIdReuseMinimalInterval": time.Duration(0),

		// A worker that stands still, or whose host is gone without a word, is hung up on within 5 s. Stock takes 70 s,
		// and until then its open polls take tasks that nobody works on.
		"frontend.keepAliveTime":    2 * time.Second,
		"frontend.keepAliveTimeout": 3 * time.Second,

		// An activity on its workflow's task queue comes back with the workflow task instead of through a poll.
		"system.enableActivityEagerExecution": true,
		// A cancelled activity learns of it by push, not with its next heartbeat.
		"frontend.WorkerCommandsEnabled":           true,
		"system.enableCancelActivityWorkerCommand": true,
		// Search attributes that are added at start are usable at once.
		"system.forceSearchAttributesCacheRefreshOnRead": true,

		// One node does the work of a cluster, so the limits of a node of a cluster do not fit.
		"frontend.persistenceMaxQPS":       10000,
		"history.persistenceMaxQPS":        45000,
		"frontend.namespaceRPS.visibility": 100,
		// Entries of the workflow cache; stock 128,000 is for a host with nothing else to do.
		"history.hostLevelCacheMaxSize": 8096,

		// Stock asks a host of the vendor, once a day, for newer versions.
		"frontend.enableServerVersionCheck": false,
	}
	maps.Copy(settings, instead)
	client := make(dynamicconfig.StaticClient, len(settings))
	for key, value := range settings {
		client[dynamicconfig.MakeKey(key)] = value
	}
	return client
}
