// Package conversation holds what `deerflow run` does: it finds a server or starts one, sends a question with its files,
// tells what the run does, asks a person when the run asks, and prints the answer with the reports that were presented.
//
// The run lives on the server. A conversation that ends early, by a signal, a time limit or a question that nobody
// answers, leaves it as it is and says how to come back.
//
// Here does not live: flags and their help texts, the HTTP API (package client), the terminal itself (package cli).
package conversation
