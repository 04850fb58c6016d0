// Package remote runs the commands of sandboxes on other machines, which speak the
// HTTP API of the all-in-one sandbox image. A machine stands at a fixed address or is
// made by a provisioner, one for each thread, in a Kubernetes cluster.
//
// The files of a thread are directories of this host, as with the other providers,
// so every rule of file tools holds here too, a lost machine loses no file, uploads
// are there before the first command, and what commands make can be downloaded from
// the API. The machine has a copy: before a command, what was changed here goes
// there; after it, what was changed there comes here, and so it is before a file tool
// looks, since something in the background may have written meanwhile. When both
// sides changed a file, the side of the file tools wins.
//
// The copy has bounds: files of up to 100 MiB, 20,000 of them, and no installed
// dependencies (node_modules, virtual environments). What is left out stays on the
// machine alone and is lost with it. Machines that mount the directories themselves
// need no copy ([Options].Mounted).
//
// A machine that cannot be reached is not available; only a thread's deletion and
// long idleness end one.
package remote
