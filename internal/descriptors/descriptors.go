// Package descriptors keeps the open files of this process from the programs that it
// starts. What Go opens is closed there anyway; what the process was started with, a
// service manager's socket or a directory that a shell had open, is not, and through
// one of these a command reaches the host past every wall.
package descriptors
