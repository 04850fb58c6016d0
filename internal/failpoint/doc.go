// Package failpoint names moments at which a test wants the process to stand
// still, so that it can be killed exactly there.
//
// In a normal build [Here] is an empty function, which the compiler removes.
// Built with the tag failpoints, it looks into the directory that the environment
// variable DEERFLOW_FAILPOINTS names: the file <point>@<key>.armed arms a point
// for one key, the id of a thread. A number in it is how many calls pass first.
// The call that finds its point armed renames the file to <point>@<key>.reached
// and never returns.
//
// Points stand in activities, in the store, in the API and around workflows,
// never in them: workflow code is replayed.
package failpoint
