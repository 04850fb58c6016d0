//go:build !nextloop

package workflows

import "go.temporal.io/sdk/workflow"

// loopVersion is the version of the turn loop that new loops begin with. It is
// raised by a change of what a loop does, or of the order in which it does it;
// loops of lower versions go on by the rules that they began with.
const loopVersion = 1

// openTurn is what a turn begins with: nothing, in the versions so far.
func (c *conversation) openTurn(workflow.Context) error { return nil }
