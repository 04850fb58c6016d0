// Temporald is a Temporal server alone, for tests of the product's parts as
// separate processes: it plays the server that somebody else runs. It is no part
// of the product.
package main
