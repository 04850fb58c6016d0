// Package daemon runs the product's parts in one process, in order: the
// embedded Temporal server, the store, the worker and the API. Each part is
// built elsewhere; what stands here is who needs whom, and how all of it stops.
package daemon
