// Package replay holds recorded histories of threads, one a shape, and replays
// them with the workflow code as it is now. A change that breaks one would break
// a run in flight: it needs a new version of the turn loop, and the old one goes
// on replaying. Histories of this version are recorded with
//
//	make histories
//
// which writes to testdata/v<version of the loop> what is not there yet: a file
// for each workflow run that the thread had. The shapes stand in package change.
package replay
