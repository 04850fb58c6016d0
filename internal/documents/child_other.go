//go:build !linux

package documents

import (
	"os/exec"
	"runtime/debug"
	"time"
)

// softMemory is from where on memory is reclaimed eagerly, in bytes.
const softMemory = 1 << 30

func inOwnGroup(*exec.Cmd) {}

// limitSelf bounds what this process may use.
func limitSelf(time.Duration) { debug.SetMemoryLimit(softMemory) }
