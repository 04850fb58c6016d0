// Package changes tells what a run did to the files of its thread: which it made,
// changed and deleted, with the lines that are new and gone.
//
// It compares two surveys of the same directories. It reads no file itself: the
// sandbox makes the surveys, the store keeps what the first one saw.
package changes
