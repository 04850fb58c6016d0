// Package sandbox is where tools work: the files of a thread under their
// virtual paths (/mnt/user-data/workspace, uploads, outputs and what an operator
// mounts beside them) and the commands that run over them.
//
// [Sandbox] is what tools see, [Provider] hands it out, [Local] is the provider
// whose files are on this host. Its [Runner] runs the commands: in a shell of the
// host, or walled in by bubblewrap ([NewBubblewrap]). Every path goes through an [os.Root], so that no
// link leads out of a mount, and no path of the host appears in a result or in
// an error. Writing is compare-and-write: a call that is run again after a crash
// finds its own first effect in a small journal beside the thread's files.
//
// What a tool says to the model, its limits and its arguments belong to package
// tools; retries and heartbeats belong to the caller.
package sandbox
