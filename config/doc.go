// Package config holds the typed form of config.yaml: its sections with their
// defaults, how the file and the .env beside it are found and read, how $VAR
// values are filled in, and the checks that turn a mistake into an error with
// file and line.
//
// Load is the way in. What comes out is plain data that is never changed
// afterwards; a run that has started keeps the values it was planned with.
//
// What must not live here: anything that uses a setting. The package opens no
// connection, starts nothing, imports no other package of the module and never
// touches the process environment (a .env file is kept as a lookup).
package config
