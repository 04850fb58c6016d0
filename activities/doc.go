// Package activities is the border between workflows and the world: one file an
// activity. Each decodes its input, commits what rides on it, calls a package
// below, keeps the heartbeat going and classifies the error.
//
// What a tool does, how a model is called and how rows are stored stands in
// those packages, not here. A failing tool is a result, never a failed activity.
package activities
