// Package middleware is the chain that every turn of an agent goes through, one
// file a middleware.
//
// A middleware may do two things, and the types keep them apart: return an
// [Update], which is stored, or edit the [Request] of one model call, which
// never is. Nobody but the loop owns the list of messages. What a provider
// would refuse is repaired in package model, not here.
//
// This is workflow code: no I/O, no clock, no randomness, no goroutines, no
// iteration over maps. Every method takes workflow.Context first, so that the
// determinism checker, which cannot see through interfaces, reads it as such.
package middleware
