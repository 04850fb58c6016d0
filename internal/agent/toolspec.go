package agent

import (
	"encoding/json"
	"time"
)

// RetryClass says what may happen to a tool whose worker died in the middle.
type RetryClass string

// The retry classes of tools.
const (
	// ClassRead is a pure read: it is simply run again.
	ClassRead RetryClass = "read"
	// ClassWrite compares and writes: run again, no second effect.
	ClassWrite RetryClass = "write"
	// ClassUnsafe may have effects that cannot be seen: at most one attempt, and
	// a lost one is reported to the model as "it may have run".
	ClassUnsafe RetryClass = "unsafe"
)

// ToolSpec is a tool as the model sees it, with how the loop has to treat it.
type ToolSpec struct {
	Name        string          `json:"name"` // [A-Za-z0-9_-]{1,64}
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON schema, root type object with properties
	Class       RetryClass      `json:"class"`
	// Timeout bounds one call, start to end.
	Timeout time.Duration `json:"timeout"`
	// Key says which arguments identify a call for loop detection; empty is
	// [KeySalient].
	Key KeyRule `json:"key,omitempty"`
	// Shell is the argument that holds a shell command, which is audited before it
	// runs.
	Shell string `json:"shell,omitempty"`
	// Writes is the argument that names the file which the tool changes.
	Writes string `json:"writes,omitempty"`
}

// Brief is what a workflow needs to know of a tool.
type Brief struct {
	Name    string        `json:"name"`
	Class   RetryClass    `json:"class"`
	Timeout time.Duration `json:"timeout"`
}
