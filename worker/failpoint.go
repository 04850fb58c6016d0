//go:build !failpoints

package worker

import "go.temporal.io/sdk/worker"

// atFailpoints changes nothing in this build.
func atFailpoints(*worker.Options) {}
