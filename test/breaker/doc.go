// Package breaker tries the cases of the shared case files end to end.
package breaker
