// Package config holds the typed form of config.yaml: its sections with their
// defaults, how the file and the .env beside it are found and read, how $VAR
// values are filled in, and the checks that turn a mistake into an error with
// file and line.
//
// Load is the way in, Open that of a process which goes on while the file is
// edited. What comes out is plain data that is never changed afterwards; a run
// that has started keeps the values it was planned with. The JSON Schema of the
// file is made of the types and their comments (schema_test.go).
//
// What must not live here: anything that uses a setting. The package opens no
// connection, starts nothing, imports no other package of the module and never
// touches the process environment (a .env file is kept as a lookup).
package config
