// Package contract tests the LangGraph API with the clients that it is made for:
// the public JavaScript SDK, in the newest version and in the one that DeerFlow's
// web client is pinned to, at / and at /api, against the real binary. The checks
// stand in checks/*.mjs; those up to 64 bear the numbers of the API
// specification, those from 101 on are our own.
package contract
