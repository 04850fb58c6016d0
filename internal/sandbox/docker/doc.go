// Package docker runs the commands of sandboxes in containers of a Docker engine.
//
// A thread has one container, found by its name, which follows from user and
// thread. Its files are the directories of this host, mounted where they claim to
// be, so file tools need no container and a lost one loses no file. It is made by
// the first command, keeps its processes and what was installed between two
// commands, and ends when nobody has used it for a while.
//
// The engine and the worker must see the same directories. An engine in whose eyes
// the data directory has another path, as when the worker is a container itself, is
// told that path (see [Options]).
//
// Images are only asked for a shell: what an image would start is not started, so
// images of other products serve as well.
package docker
