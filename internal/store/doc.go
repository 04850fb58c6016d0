// Package store is the product database: threads, runs, messages, checkpoints,
// plans and the event log, in one SQLite file or in Postgres.
//
// Activities write here before the workflow learns of anything, each in one
// transaction that is idempotent by the step it belongs to, so a repeat after a
// crash changes nothing. Who may write a message is decided by claims, never by
// an attempt number. Events get their sequence number in the transaction that
// writes them: per thread, without gaps.
//
// On SQLite one goroutine writes, several jobs to a transaction, and readers
// have connections of their own. On Postgres a job is a transaction that locks
// the row of its thread.
//
// What an event looks like on the wire belongs to package api, how readers
// follow the log to package stream, and what a checkpoint holds to the
// workflow: here it is opaque.
package store
