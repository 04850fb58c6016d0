// Package limits tests what happens at the edges of what the product is made
// of: payloads that Temporal would refuse, histories that grow, as many updates
// as a workflow may take, a disk that is full, and parts that are away for a
// while. A run then waits, says for what, and goes on by itself.
//
// An outage lasts some seconds; with DEERFLOW_SOAK set, a minute.
package limits
