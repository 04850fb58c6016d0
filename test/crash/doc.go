// Package crash kills the product at exact moments and checks what is left.
//
// The moments stand in one table (see moment). Each is tried alone and while
// other threads work, in one process on SQLite and as API and worker on Postgres,
// and once more with Temporal's database lost. Most moments are failpoints of a
// binary that is built for this package (see internal/failpoint); the others are
// facts that show outside, such as a request that stands at the model.
package crash
