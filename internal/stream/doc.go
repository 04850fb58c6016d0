// Package stream lets readers follow the event log of a thread: a hub that wakes
// them in this process, and a reader that joins the table with the hub without
// doubles or gaps.
//
// The log itself is package store's; how events look on the wire is package
// api's. Nothing here ever holds up a writer.
package stream
