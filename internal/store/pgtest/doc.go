// Package pgtest gives tests an empty Postgres database: in the server that
// DEERFLOW_TEST_POSTGRES_URL names, or in a private one that is started from the
// binaries of the system's package and ends with the tests.
//
// It is for tests only; nothing here reaches a database that anybody keeps.
package pgtest
