// Package deploy tests the files that run the product as services: that they are
// valid, that they agree with the versions in go.mod, that nothing but loopback
// ports is open, and that the binary knows the commands in them. No container
// is started.
package deploy
