// Package replay holds recorded histories of threads, one a shape, and replays
// them with the workflow code as it is now. A change that breaks one would break
// a run in flight: it needs a version. Record new ones with
//
//	DEERFLOW_RECORD_HISTORIES=test/replay/testdata go test ./test/e2e -run TestHistoriesReplay -count=1
package replay
