// Package fakeserver is a scripted DeerFlow API for tests of commands: what runs do is written down beforehand, and what
// was asked of the server can be looked at afterwards.
//
// It knows the answers that package client needs and nothing of how a real server comes to them.
package fakeserver
