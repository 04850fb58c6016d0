// Package soak kills the product at random moments while it works, and checks
// that nothing was lost, doubled or left standing. It runs with make soak, and is
// skipped otherwise.
package soak
