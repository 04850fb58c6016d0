// Package step is the contract between workflows and activities: the name of
// each activity, its input and its result. Workflows and activities never
// import each other, they meet here.
//
// Everything in it travels through Temporal history: no bodies of messages, no
// secrets, small values only. Fields may be added, never renamed or given a new
// meaning, since recorded histories are decoded into these types.
package step
