// Package uploads is the upload directory of a thread: the names of files in it,
// how files come in, which of them is the text of a document, and what a model is
// told of the files that came with a message.
package uploads
