// Package workflows holds the deterministic code of the product: the workflow
// that is a thread, and the turn loop.
//
// There is no I/O here, no clock, no randomness, no goroutine and no map order
// that shows. What touches the world is an activity, named in package step. A
// change here has to replay the recorded histories.
package workflows
