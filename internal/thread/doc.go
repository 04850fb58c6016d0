// Package thread holds the values that a conversation is made of: messages and
// their digests, the state with its reducers, runs, interrupts, updates and the
// cursor over the transcript.
//
// Everything here is a pure value: no I/O, no clock, no randomness, so that
// workflows, activities and the API can share it. How a message is sent to a
// provider belongs to package model, how it is stored to package store.
package thread
