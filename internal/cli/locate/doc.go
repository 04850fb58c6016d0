// Package locate finds the DeerFlow server that a command speaks to: the one that is named, the one that announces
// itself in the data directory, or the one at the usual address.
//
// Here does not live: starting a server, and the HTTP API beyond /health and /info.
package locate
