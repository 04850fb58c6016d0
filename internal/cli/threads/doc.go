// Package threads holds what `deerflow threads` does with the threads of a server: it lists them, shows one in readable
// form, exports, cancels and deletes it.
//
// Following a run and answering its questions is package conversation's; flags and help texts stand with the commands.
package threads
