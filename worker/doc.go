// Package worker wires workflows and activities to task queues, and puts right,
// when a process starts, what the one before left half done.
//
// What a workflow decides and what an activity does stands elsewhere.
package worker
