// Package export makes documents that people keep out of the Markdown that an
// agent has written: the Markdown itself, a web page that needs nothing else, and
// a PDF. Each ends with what its citations rest on.
//
// Nothing that it makes runs a script or loads anything from elsewhere. A PDF
// says when a character could not be shown.
package export
