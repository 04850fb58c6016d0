//go:build !nextloop

package workflows

import "go.temporal.io/sdk/workflow"

// loopVersion is the version of the turn loop that new loops begin with. It is
// raised by a change of what a loop does, or of the order in which it does it;
// loops of lower versions go on by the rules that they began with.
//
//	1: the first chain; a turn's commit is made when the turn ends.
//	2: the whole chain; a turn's commit is made right before the next model call,
//	   with what the before-model hooks add.
const loopVersion = 2

// openTurn is what a turn begins with: nothing, in the versions so far.
func (c *conversation) openTurn(workflow.Context) error { return nil }
