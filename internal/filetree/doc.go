// Package filetree removes and copies directory trees that commands have made, so
// whatever there is in them: trees thousands of levels deep, directories without the
// right to write, files that are mostly holes. Everything is reached through
// [os.Root], and the number of descriptors does not grow with the tree.
package filetree
