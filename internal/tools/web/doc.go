// Package web reaches the web for the tools of an agent: it searches, fetches
// pages, finds images and takes pictures of pages. One file a provider; the table
// [Providers] says which provider does what, so that the entry of a tool in the
// configuration switches it with one line.
//
// A provider is made anew for each call from the [Options] of its entry and keeps
// nothing. What is shared in a process, connections and name lookups, is a
// [Client]. Everything that goes wrong is an [Error], whose text is what the model
// reads: it never holds a key, an address of a service with its query, or a page.
//
// Two kinds of addresses are told apart. Those of services come from the operator,
// who may run them anywhere. Those of pages come from a model or from a page: they
// go through [Client.Check], and what fetches them dials the very address that was
// checked.
package web
