// Package audit judges shell commands before they run: it blocks what no task of
// an agent needs and what has ruined machines, and warns of what reaches beyond
// the task. It is a help against accidents and crude tricks. Isolation is the
// wall.
//
// A command that the shell can read is judged by its syntax tree: which words are
// programs, where their output goes, which files they are given. Text that is only
// stored or looked for, such as a here-document for cat or the message of a commit,
// is no command. Text that a program may run is looked at by patterns: the words of
// all other commands, with echo among them, and here-documents of interpreters. What
// cannot be read as a script is judged by the patterns as a whole.
package audit
