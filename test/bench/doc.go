// Package bench measures the promises of the product through the real binary,
// with a model that answers at once, and prints each figure beside its bar.
// Timing never fails a test: a figure that is not good enough says "falls
// short". Run it with make bench.
package bench
