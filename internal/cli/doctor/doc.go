// Package doctor looks whether everything that DeerFlow needs is there: configuration, data directory, database, server,
// Temporal, models. Each check says what it found and, when something is wrong, what to do.
//
// It changes nothing but a temporary file in the data directory, and shows no secret.
package doctor
