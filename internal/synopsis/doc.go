// Package synopsis says in few words what a long text is about: what kind of
// text it is, how it is built, how it begins and ends. It stands in for a tool's
// result that was too long for a transcript and was written to a file.
//
// Everything is counted in characters, and no function returns more than it was
// told, whatever the text is.
package synopsis
