// Package change tests what may change under a run in flight: its worker's
// memory, its process, and the version of the program. It plays each shape that
// a thread's history can have on the real product, with workflows kept in memory
// and with none, where every workflow task replays the history from its start.
//
// The histories of the shapes are recorded for package replay, and with them the
// database of some threads, one for each version of the turn loop, with
//
//	make histories
package change
