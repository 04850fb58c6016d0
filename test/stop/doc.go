// Package stop tests the end of what a person stops: the model request is
// closed and the command's processes are gone at once, whatever else is slow or
// away, the text that was shown stays, and the thread goes on with a request that
// a strict provider takes.
package stop
