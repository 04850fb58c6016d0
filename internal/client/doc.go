// Package client speaks to a DeerFlow server over its HTTP API: threads, runs
// and their streams, uploads and artifacts. A stream survives lost connections
// and restarts of the server: it goes on where it was, without doubles.
//
// It knows the API's shapes, not how the server makes them, and nothing of the
// terminal: what is shown of a run is the caller's matter.
package client
