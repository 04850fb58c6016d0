// Package cases tries small inputs that broke real systems of this kind against
// the real binary: odd models, broken tool calls, races, crashes, hostile files
// and requests. Tests are named after the case where it has an id. The model
// server is strict, so every request that a provider would refuse fails the
// test.
package cases
