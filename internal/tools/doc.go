// Package tools holds the tools that a model can call: what each one says about
// itself, what it takes, and what it does in the sandbox of a thread. One file a
// tool, with its description for the model beside it.
//
// A failure that a model can mend is a [Result] with Error set, in words for the
// model. The error of a call is kept for lost infrastructure: the context has
// ended or the sandbox is away; only then does it make sense to run the call
// again. [Run] is how a caller runs a tool: it turns a panic into a result,
// bounds what comes out and stamps it.
//
// Where files are and commands run belongs to package sandbox; when a tool runs,
// how often, and what becomes of its result belongs to the activities.
package tools
