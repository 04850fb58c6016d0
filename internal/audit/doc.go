// Package audit judges shell commands before they run: it blocks what no task of
// an agent needs and what has ruined machines, and warns of what reaches beyond
// the task. It is a help against accidents and crude tricks. Isolation is the
// wall.
//
// A command is looked at twice. Patterns of text look at the whole of it, also at
// what stands in quotes and here-documents: a dangerous line that is only printed
// is blocked too, which is accepted. The syntax tree tells which words are
// commands, so that a download that becomes a command is told from one whose
// output is only a value.
package audit
