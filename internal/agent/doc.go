// Package agent says what a run is made of: the plan that is fixed when the run
// starts, the prompt, tool specs and their retry classes, the edits of a model
// request, and the keys by which two tool calls count as the same.
//
// It is pure: no I/O, no clock. Who runs tools is package tools, who calls the
// model is package model.
package agent
