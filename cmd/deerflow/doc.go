// Command deerflow runs research agents as durable Temporal workflows.
//
// One file a command, each with one constructor that newRootCommand adds. What a command does with the outside world
// goes through [App]: streams, environment, signals and the embedded server are injected, so that tests drive the root
// command as a shell does.
package main
