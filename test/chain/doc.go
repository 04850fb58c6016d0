// Package chain tries the whole chain of middlewares at once, through the real
// binary and a strict model server: a conversation of more than sixty turns in
// which every feature happens, and what a turn costs in which nothing does.
package chain
