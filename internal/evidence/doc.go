// Package evidence tells what a report rests on: it finds the citations of a
// Markdown document, brings addresses into a form in which they can be compared,
// and judges each citation by what the thread has fetched, found or been given.
//
// It is a set of pure rules. Who knows what was fetched is the store; who asks
// are the activities that make answers and files.
package evidence
