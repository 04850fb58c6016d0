// Package threadclient sends submissions, cancels and answers to thread
// workflows, with the repeats that make them safe over a restart, a
// continue-as-new and a busy server.
//
// It knows Temporal and the step contract, not the store and not HTTP.
package threadclient
