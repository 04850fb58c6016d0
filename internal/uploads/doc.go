// Package uploads says what a model is told of the files that came with a
// message: their names, sizes and paths, and for documents that were converted
// an outline of the text.
//
// It is pure: who calls it has looked at the files.
package uploads
