// Package pool keeps machines that are costly to make, one for each key, and ends
// them when nobody has used them for a while or too many are there.
//
// One that is in use is never ended. A key gets one machine however many ask for
// it at once, and a making that fails leaves nothing behind. It knows nothing of
// what a machine is.
package pool
