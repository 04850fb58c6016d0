// Package api is the HTTP face of the product: threads, their state, runs and
// their event streams, uploads and artifacts, in the shapes of the LangGraph
// API at / and in DeerFlow's own at /api and /api/langgraph.
//
// A handler checks what was sent, reads and writes the product database, and
// hands runs to their threads through [Threads]. It never waits for a worker to
// answer a read. What an event of the log looks like on the wire is decided
// here, and only here: frames are built from the log alone, so that every
// server builds the same ones under the same ids and a reader can go on
// anywhere.
//
// What does not live here: how rows are stored (package store), how the log is
// followed (package stream), how a thread is reached (package threadclient) and
// anything that knows Temporal.
package api
