// Package devserver runs a Temporal server and its Web UI inside this process, so that the product works on a
// machine where nothing else is installed.
//
// Here live: the server's configuration, the SQLite file it keeps, the lock that gives one process the data
// directory, the choice of ports, the assembly of the Web UI and the namespace with its search attributes. It is the
// only package that may import go.temporal.io/server or the UI server, because both are large and their interfaces
// change between releases.
//
// Here does not live: anything that knows about threads, runs or workers. Callers get an address and dial it with the
// SDK as they would dial any Temporal server.
//
// # Files
//
// Everything is kept in one data directory:
//
//	temporal.db    the server's SQLite file, with its -wal and -shm beside it
//	temporal.json  which server version wrote the file, the cluster id and the number of history shards
//	temporal.lock  an OS file lock, held while a server runs; it contains the holder's process id
//
// The server has no upgrade path for its SQLite schema. A file of another version is therefore moved aside and a fresh
// one is made; see [Server.MovedAside].
//
// # Reach
//
// All listeners are bound to 127.0.0.1, and neither the frontend nor the Web UI asks who is calling. Nothing is sent
// to other hosts: the server's version check and the UI's news are off.
package devserver
