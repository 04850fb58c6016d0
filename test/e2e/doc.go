// Package e2e tests the product as a user runs it: the real binary, the HTTP API
// and the command line, against a model server that refuses every request a
// strict provider would refuse. Tests wait on what that server and the event
// stream have shown, never on a clock.
package e2e
