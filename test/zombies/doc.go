// Package zombies tests attempts that were given up and go on writing: a worker
// that was frozen and wakes while another one does its work again, an activity
// that a person resets or pauses, a workflow that a person resets or terminates
// while its old attempts live. Whatever they do, there is one text, one row, one
// result, and every reader sees the same.
package zombies
