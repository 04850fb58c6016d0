// Package cli holds what the commands need to talk to a person or a script: the standard streams, exit codes, output
// formats, progress on the terminal and questions asked there.
//
// Here does not live: anything that knows a command, its flags or the HTTP API. What a run does is told to a
// [Narrator] as events; who fetches them is the command's matter.
package cli
